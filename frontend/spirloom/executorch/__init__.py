"""Spirloom as an ExecuTorch backend: importing this module registers it.

    import spirloom.executorch
    from executorch.runtime import Runtime

    method = Runtime.get().load_program("net.pte").load_method("forward")
    y, = method.execute([x])

Import it before loading a program with delegates of `SpirloomPartitioner` or of ExecuTorch's Vulkan
partitioner. Raises Unavailable if ExecuTorch or the library is missing, or if another backend is
registered under one of the names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spirloom.executorch.native import NativeBackend

if TYPE_CHECKING:
    from spirloom.executorch.partitioner import SpirloomPartitioner

__all__ = ["BACKENDS", "SpirloomPartitioner", "last_error"]

BACKENDS = ("VulkanBackend", "SpirloomBackend")  # names in ExecuTorch's registry

_native = NativeBackend.load(*BACKENDS)


def last_error() -> str:
    """The complete error message of this thread's last load or run of a delegate; "" on success.

    ExecuTorch itself raises an exception with only an error code, and logs the message.
    """
    return _native.last_error()


def __getattr__(name: str) -> Any:
    """Imports SpirloomPartitioner lazily: it requires PyTorch, which running does not."""
    if name != "SpirloomPartitioner":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from spirloom.executorch.partitioner import SpirloomPartitioner

    return SpirloomPartitioner
