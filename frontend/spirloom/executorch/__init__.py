"""Spirloom as ExecuTorch's Vulkan backend: importing this registers it.

    import spirloom.executorch
    from executorch.runtime import Runtime

    method = Runtime.get().load_program("net.pte").load_method("forward")
    y, = method.execute([x])

Import it before a program with Vulkan delegates is loaded. Raises Unavailable without ExecuTorch,
without the library, or where another backend of the name "VulkanBackend" is registered already.
"""

from __future__ import annotations

from spirloom.executorch.native import NativeBackend

__all__ = ["BACKEND", "last_error"]

BACKEND = "VulkanBackend"  # the name under which programs ask for it

_native = NativeBackend.load(BACKEND)


def last_error() -> str:
    """The whole message of the error that this thread's last load or run of a delegate ended with.

    "": it ended well.

    ExecuTorch raises an exception with a number, and logs the lines.
    """
    return _native.last_error()
