"""PyTorch's device `vulkan`: tensors and modules stay on the device between calls.

    import torch
    import spirloom.torch  # not required if the wheel is installed: PyTorch loads the device itself

    x = torch.ones(2, 3, device="vulkan")
    y = (x + 1).cpu()

`torch.vulkan` has the functions of the device (spirloom.torch_device.vulkan). The Vulkan device is
opened at its first use, not at import.
"""

from __future__ import annotations

from spirloom.torch_device.registration import autoload, is_registered, register

__all__ = ["autoload", "is_registered", "register"]
