"""Locates and opens libspirloom: calls that raise exceptions, and owners of its objects."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spirloom.errors import SpirloomError
from spirloom.runtime.abi import ABI_VERSION, declare
from spirloom.runtime.errors import Unavailable, Unsupported, error_of

forks = 0  # how many lie between the process that imported this and the present one


def _count_fork() -> None:
    global forks
    forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)

FORKED = (
    "This process was forked from one that had used Spirloom, which Vulkan's drivers do not "
    "survive. Start processes afresh (multiprocessing.set_start_method('spawn')), or use Spirloom "
    "in the children alone."
)


SONAME = "libspirloom.so.1"
PACKAGE = Path(__file__).resolve().parents[1]  # the folder of `spirloom`

LIBRARY_VARIABLE = "SPIRLOOM_LIBRARY"
SHADERS_VARIABLE = "SPIRLOOM_SHADERS"


@dataclass(frozen=True, slots=True)
class Files:
    """The C API's library and the shader library that goes with it."""

    library: Path
    shaders: Path


def candidates() -> list[Files]:
    """Where both may be, in the order in which they are looked for; any may not exist."""
    places = [Files(PACKAGE / "_native" / SONAME, PACKAGE / "_native/shaders_all.slpack")]
    above = PACKAGE.parents[1]  # the repository, or an installed package's share/spirloom
    build = above / "build/release"
    places.append(Files(build / "runtime/c" / SONAME, build / "generated/shaders.slpack"))
    prefix = above.parents[1] if len(above.parents) > 1 else above
    installed = sorted(prefix.glob(f"lib*/{SONAME}")) + sorted(prefix.glob(f"lib/*/{SONAME}"))
    places += [Files(library, above / "shaders_all.slpack") for library in installed]
    return places


def find() -> Files | None:
    """The first that exists; SPIRLOOM_LIBRARY and SPIRLOOM_SHADERS name others."""
    found = next((place for place in candidates() if place.library.exists()), None)
    library, shaders = os.environ.get(LIBRARY_VARIABLE), os.environ.get(SHADERS_VARIABLE)
    if library is None and found is None:
        return None
    beside = found or Files(Path(library or ""), Path(library or "").parent / "shaders_all.slpack")
    return Files(
        Path(library) if library else beside.library, Path(shaders) if shaders else beside.shaders
    )


class Native:
    """libspirloom. ctypes lets other Python threads run during each of its calls."""

    def __init__(self, files: Files) -> None:
        """Opens it. Unavailable when that fails, or when it has another ABI."""
        self.files = files
        self.forks = forks
        try:
            self.library: Any = ctypes.CDLL(str(files.library))
            declare(self.library)
        except (OSError, AttributeError) as error:
            raise Unavailable(f"Cannot use {files.library}: {error}.") from error
        version = self.library.spirloom_abi_version()
        if version != ABI_VERSION:
            message = f"{files.library} has the ABI {version}; this package wants {ABI_VERSION}."
            raise Unavailable(message)

    def function(self, name: str) -> Callable[..., Any]:
        """spirloom_<name>."""
        found: Callable[..., Any] = getattr(self.library, f"spirloom_{name}")
        return found

    def call(self, name: str, *arguments: Any) -> None:
        """spirloom_<name>() with an error; raises it."""
        error = ctypes.c_void_p()
        status = self.function(name)(*arguments, ctypes.byref(error))
        if status != 0:
            raise self.failure(status, error)

    def failure(self, status: int, error: ctypes.c_void_p) -> SpirloomError:
        """The exception of a failed call; frees the error."""
        message = self.library.spirloom_error_message(error).decode(errors="replace")
        self.library.spirloom_error_destroy(error)
        return error_of(status, message)

    def make(self, name: str, destroy: str, *arguments: Any) -> Handle:
        """The object that spirloom_<name>() gives through its last pointer but the error."""
        made = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(made))
        return Handle(made.value, self.function(destroy))

    def text(self, name: str, *arguments: Any) -> str:
        """The string that spirloom_<name>() gives; "" for NULL."""
        given: bytes | None = self.function(name)(*arguments)
        return (given or b"").decode(errors="replace")


class Handle:
    """Owns an object of the library's: destroys it with the last reference to this.

    Not in a forked process, which has no such object, only the memory of one.
    """

    __slots__ = ("__weakref__", "_destroy", "_forks", "keeps", "value")

    def __init__(self, value: int | None, destroy: Callable[[int | None], None]) -> None:
        self.value = value
        self.keeps: object = None  # what has to live as long, such as callbacks
        self._destroy = destroy
        self._forks = forks

    def __del__(self) -> None:
        if self._forks == forks:
            self._destroy(self.value)

    def check_process(self) -> None:
        """Raises Unsupported in a process forked from the one that made it."""
        if self._forks != forks:
            raise Unsupported(FORKED)


_lock = threading.Lock()
_native: Native | None = None


def native() -> Native:
    """The library. Unavailable when there is none; Unsupported in a forked process."""
    global _native
    if _native is None:
        with _lock:
            if _native is None:
                _native = Native(_found())
    if _native.forks != forks:
        raise Unsupported(FORKED)
    return _native


def _found() -> Files:
    files = find()
    if files is None:
        places = "".join(f"\n - {place.library}" for place in candidates())
        raise Unavailable(
            f"There is no {SONAME}. It comes with the wheel (pip install), or is built by "
            f"`./dev build`; {LIBRARY_VARIABLE} names another. Looked for:{places}"
        )
    return files
