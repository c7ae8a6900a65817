"""Exceptions of the runtime: subclasses of SpirloomError, one per status of the C API.

Each also derives from the corresponding built-in exception: `except MemoryError` works too.
"""

from __future__ import annotations

from spirloom.errors import SpirloomError, Status


class InvalidArgument(SpirloomError, ValueError):
    """An argument is invalid: a name, a shape, a value, an option."""

    status = Status.INVALID_ARGUMENT


class WrongType(InvalidArgument, TypeError):
    """An array has the wrong dtype, or an argument has the wrong type."""


class InvalidFile(SpirloomError, ValueError):
    """A graph or library file is malformed."""

    status = Status.INVALID_FILE


class NotFound(SpirloomError, LookupError):
    """The runtime's libraries do not contain a required operator or kernel."""

    status = Status.NOT_FOUND


class FileMissing(NotFound, FileNotFoundError):
    """A file does not exist."""


class Unsupported(SpirloomError, RuntimeError):
    """The device, the library or the process does not support the request."""

    status = Status.UNSUPPORTED


class OutOfMemory(SpirloomError, MemoryError):
    """Host memory, device memory or `memory_limit` is exhausted."""

    status = Status.OUT_OF_MEMORY


class DeviceLost(SpirloomError, RuntimeError):
    """The device is lost (VK_ERROR_DEVICE_LOST): create a new Runtime."""

    status = Status.DEVICE_LOST


class InternalError(SpirloomError, RuntimeError):
    """A bug of Spirloom, of a library or of a driver."""

    status = Status.INTERNAL


class Busy(SpirloomError, RuntimeError):
    """The model is in use, or the results of a run have been overwritten."""

    status = Status.BUSY


class Forbidden(SpirloomError, PermissionError):
    """No permission to read a file."""

    status = Status.PERMISSION


class Unavailable(SpirloomError, RuntimeError):
    """A Vulkan loader, driver, device or layer, or libspirloom, is missing on this machine."""

    status = Status.UNAVAILABLE


_CLASSES: dict[int, type[SpirloomError]] = {
    kind.status: kind
    for kind in (
        InvalidArgument,
        InvalidFile,
        NotFound,
        Unsupported,
        OutOfMemory,
        DeviceLost,
        InternalError,
        Busy,
        Forbidden,
        Unavailable,
    )
}


def error_of(status: int, message: str) -> SpirloomError:
    """The exception of a status; SpirloomError for an unknown status of a newer library."""
    return _CLASSES.get(status, SpirloomError)(message)
