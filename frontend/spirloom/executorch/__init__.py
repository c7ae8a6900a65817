"""Spirloom as a backend of ExecuTorch's: importing this registers it.

    import spirloom.executorch
    from executorch.runtime import Runtime

    method = Runtime.get().load_program("net.pte").load_method("forward")
    y, = method.execute([x])

Import it before a program with its delegates is loaded: those that `SpirloomPartitioner` makes,
and Vulkan ones. Raises Unavailable without ExecuTorch, without the library, or where another
backend of one of its names is registered already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spirloom.executorch.native import NativeBackend

if TYPE_CHECKING:
    from spirloom.executorch.partitioner import SpirloomPartitioner

__all__ = ["BACKENDS", "SpirloomPartitioner", "last_error"]

BACKENDS = ("VulkanBackend", "SpirloomBackend")  # the names under which programs ask for it

_native = NativeBackend.load(*BACKENDS)


def last_error() -> str:
    """The whole message of the error that this thread's last load or run of a delegate ended with.

    "": it ended well.

    ExecuTorch raises an exception with a number, and logs the lines.
    """
    return _native.last_error()


def __getattr__(name: str) -> Any:
    """What exports need, and running does not: it takes PyTorch."""
    if name != "SpirloomPartitioner":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from spirloom.executorch.partitioner import SpirloomPartitioner

    return SpirloomPartitioner
