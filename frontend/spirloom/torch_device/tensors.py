"""Methods of torch.Tensor and torch.nn.Module for the device, which PyTorch adds for devices of
packages only if the name is new to it: tensors already have `is_vulkan`, of its older backend.
"""

from __future__ import annotations

from typing import Any

DLPACK_EXTENSION = 12  # kDLExtDev


def add_methods() -> None:
    """Adds Tensor.vulkan(), Tensor.is_vulkan, Module.vulkan() and the device of DLPack."""
    import torch

    dlpack_device = torch.Tensor.__dlpack_device__

    def is_vulkan(tensor: Any) -> bool:
        """Whether the tensor is on the device 'vulkan'."""
        return bool(tensor.device.type == "vulkan")

    def to_vulkan(self: Any, *arguments: Any, **keywords: Any) -> Any:
        """The tensor or module on the device 'vulkan'; the arguments are those of to()."""
        return self.to("vulkan", *arguments, **keywords)

    def dlpack_device_of(tensor: Any) -> Any:
        if is_vulkan(tensor):
            return DLPACK_EXTENSION, tensor.device.index
        return dlpack_device(tensor)

    torch.Tensor.is_vulkan = property(is_vulkan)
    torch.Tensor.vulkan = to_vulkan
    torch.nn.Module.vulkan = to_vulkan
    # PyTorch's own compares the name of the device with "privateuseone".
    torch.Tensor.__dlpack_device__ = dlpack_device_of
