"""What running raises: the family of SpirloomError, one class for each status of the C API.

Each is also the built-in exception that says the same, so that `except MemoryError` works too.
"""

from __future__ import annotations

from spirloom.errors import SpirloomError, Status


class InvalidArgument(SpirloomError, ValueError):
    """The caller passed something wrong: a name, a shape, a number, an option."""

    status = Status.INVALID_ARGUMENT


class WrongType(InvalidArgument, TypeError):
    """An array of a dtype, or an object of a type, that an input does not take."""


class InvalidFile(SpirloomError, ValueError):
    """A graph or library file is malformed."""

    status = Status.INVALID_FILE


class NotFound(SpirloomError, LookupError):
    """Operators or kernels that the runtime's libraries lack."""

    status = Status.NOT_FOUND


class FileMissing(NotFound, FileNotFoundError):
    """A file that does not exist."""


class Unsupported(SpirloomError, RuntimeError):
    """Valid, but not with this device, this library or this process."""

    status = Status.UNSUPPORTED


class OutOfMemory(SpirloomError, MemoryError):
    """The host's memory, the device's, or `memory_limit` is reached."""

    status = Status.OUT_OF_MEMORY


class DeviceLost(SpirloomError, RuntimeError):
    """The device is gone for this process: make a new Runtime."""

    status = Status.DEVICE_LOST


class InternalError(SpirloomError, RuntimeError):
    """A mistake of Spirloom's, of a library's or of a driver's."""

    status = Status.INTERNAL


class Busy(SpirloomError, RuntimeError):
    """Right, but not now: the model is in use, or its results are gone."""

    status = Status.BUSY


class Forbidden(SpirloomError, PermissionError):
    """The system does not let the program read a file."""

    status = Status.PERMISSION


class Unavailable(SpirloomError, RuntimeError):
    """This machine has no Vulkan loader, driver, device or layer, or no libspirloom."""

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
    """The exception of a status; of one that a later library may have, the family's own."""
    return _CLASSES.get(status, SpirloomError)(message)
