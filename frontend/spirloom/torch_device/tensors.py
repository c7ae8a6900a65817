"""Methods of torch.Tensor and torch.nn.Module for the device, which PyTorch adds for devices of
packages only if the name is new to it: tensors already have `is_vulkan`, of its older backend.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
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
    torch.nn.Module._apply = _keeping_shared_parameters(torch.nn.Module._apply)


def _shared_parameters(module: Any) -> list[list[tuple[Any, str]]]:
    """For each parameter of several modules (tied weights), these modules and its names."""
    owners: dict[int, list[tuple[Any, str]]] = defaultdict(list)
    for each in module.modules():
        for name, parameter in each._parameters.items():
            if parameter is not None:
                owners[id(parameter)].append((each, name))
    return [places for places in owners.values() if len(places) > 1]


def _keeping_shared_parameters(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Module._apply(), which to() calls, with one parameter where there was one. For devices of
    packages, PyTorch makes a new parameter for each module, and training would update one of them.
    """
    state = threading.local()

    def apply_to(self: Any, *arguments: Any, **keywords: Any) -> Any:
        if getattr(state, "is_inner", False):  # called for a submodule
            return apply(self, *arguments, **keywords)
        shared = _shared_parameters(self)
        state.is_inner = True
        try:
            result = apply(self, *arguments, **keywords)
        finally:
            state.is_inner = False
        for (first, name), *others in shared:
            for module, other in others:
                module._parameters[other] = first._parameters[name]
        return result

    return apply_to
