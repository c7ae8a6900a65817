"""Registers the device with PyTorch, once per process."""

from __future__ import annotations

import atexit
import logging
import threading

from spirloom.runtime.errors import Unsupported
from spirloom.torch_device import library

LOGGER = logging.getLogger("spirloom")
NAME = "vulkan"

# PyTorch's name of the one device type for packages, unless one of them has renamed it.
_UNUSED = "privateuseone"

_lock = threading.RLock()
_registered = False


def is_registered() -> bool:
    """Whether torch.device("vulkan") is this device."""
    return _registered


def autoload() -> None:
    """Registers the device if PyTorch's version has a build, and no accelerator of its own on this
    machine. The entry point of the group `torch.backends`, which PyTorch calls at the end of
    `import torch`: it must not fail.

    A process has one accelerator, and a device of a package precedes PyTorch's own: with both,
    backward() on CUDA fails.
    """
    try:
        if other := accelerator():
            LOGGER.info(
                "The device 'vulkan' is not registered with PyTorch, whose accelerator here is "
                "'%s'. For 'vulkan' instead, call spirloom.torch_device.register().", other
            )  # fmt: skip
            return
        register()
    except Exception as error:  # the loader's too: a damaged file, another build of PyTorch
        LOGGER.info("The device 'vulkan' is not registered with PyTorch: %s", error)


def accelerator() -> str | None:
    """The accelerator that PyTorch itself can use on this machine, such as "cuda". Does not open
    it."""
    import torch

    own = torch.accelerator.current_accelerator()  # that PyTorch was built for
    if own is None or torch.get_device_module(own).device_count() == 0:
        return None
    return str(own.type)


def register() -> None:
    """Makes torch.device("vulkan") and torch.vulkan; does nothing if they exist. In this process,
    gradients on other accelerators can then not be computed (autoload()).

    Raises Unsupported if PyTorch's version has no build, or if another package has a device in
    this process; Unavailable without libspirloom.
    """
    global _registered
    with _lock:
        if not _registered:
            _register()
            _registered = True


def _register() -> None:
    import torch

    from spirloom.runtime.native import native
    from spirloom.torch_device import tensors, vulkan

    taken = torch._C._get_privateuse1_backend_name()
    if taken != _UNUSED:
        raise Unsupported(
            f"Another package has registered the device '{taken}', and PyTorch permits one such "
            "device per process. Set TORCH_DEVICE_BACKEND_AUTOLOAD=0, and import only the package "
            "whose device you use."
        )
    path = library.path_for(torch.__version__)
    files = native().files  # opens libspirloom, to which the loader then links the library
    torch.ops.load_library(path)  # first: if it fails, another package may have the device
    torch.utils.rename_privateuse1_backend(NAME)
    if files.shaders.exists():
        torch.ops.spirloom_vulkan.set_shaders(str(files.shaders))
    torch._register_device_module(NAME, vulkan)
    tensors.add_methods()
    atexit.register(vulkan.finish)
