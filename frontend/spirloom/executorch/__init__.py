"""Spirloom as an ExecuTorch backend: importing this module registers it.

    import spirloom.executorch
    from executorch.runtime import Runtime

    method = Runtime.get().load_program("net.pte").load_method("forward")
    y, = method.execute([x])

Import it before loading a program with delegates of `SpirloomPartitioner` or of ExecuTorch's Vulkan
partitioner. On a machine without the backend library, programs can be lowered but not run. Raises
Unavailable if the library cannot be opened, or if another backend is registered under one of the
names.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from spirloom.executorch.calibration import quantize
from spirloom.executorch.debug_handles import model_debug_handles
from spirloom.executorch.native import NativeBackend, NotInstalled

if TYPE_CHECKING:
    from spirloom.executorch.partitioner import SpirloomPartitioner

__all__ = [
    "BACKENDS",
    "SpirloomPartitioner",
    "last_error",
    "model_debug_handles",
    "quantize",
    "register",
]

BACKENDS = ("VulkanBackend", "SpirloomBackend")  # names in ExecuTorch's registry

_native: NativeBackend | None = None


def register() -> None:
    """Registers the backends with ExecuTorch, once; the import has done so if they are installed.

    Raises Unavailable with the reason if programs cannot run on this machine.
    """
    _registered()


def last_error() -> str:
    """The complete error message of this thread's last load or run of a delegate; "" on success.

    ExecuTorch itself raises an exception with only an error code, and logs the message. Raises
    Unavailable if the backend library is missing.
    """
    return _registered().last_error()


def _registered() -> NativeBackend:
    global _native
    if _native is None:
        _native = NativeBackend.load(*BACKENDS)
    return _native


def __getattr__(name: str) -> Any:
    """Imports SpirloomPartitioner lazily: it requires PyTorch, which running does not."""
    if name != "SpirloomPartitioner":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from spirloom.executorch.partitioner import SpirloomPartitioner

    return SpirloomPartitioner


try:
    register()
except NotInstalled as error:  # lowering does not require the library
    logging.getLogger(__name__).info("Programs can be lowered, but not run: %s", error)
