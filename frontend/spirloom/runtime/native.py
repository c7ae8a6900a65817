"""Locates and opens libspirloom. Calls raise exceptions; handles own the library's objects."""

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

forks = 0  # number of forks between the importing process and this process


def _count_fork() -> None:
    global forks
    forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)

FORKED = (
    "This process was forked from one that had used Spirloom; Vulkan drivers do not support that. "
    "Spawn processes instead (multiprocessing.set_start_method('spawn')), or use Spirloom only in "
    "the child processes."
)


SONAME = "spirloom.dll" if os.name == "nt" else "libspirloom.so.1"
PACKAGE = Path(__file__).resolve().parents[1]  # the directory of `spirloom`

LIBRARY_VARIABLE = "SPIRLOOM_LIBRARY"
SHADERS_VARIABLE = "SPIRLOOM_SHADERS"


@dataclass(frozen=True, slots=True)
class Files:
    """Paths of the C API's library and of its shader library."""

    library: Path
    shaders: Path


def candidates() -> list[Files]:
    """The search paths, in order; they need not exist."""
    paths = [Files(PACKAGE / "_native" / SONAME, PACKAGE / "_native/shaders_all.slpack")]
    above = PACKAGE.parents[1]  # the repository, or an installed package's share/spirloom
    build = above / "build/release"
    paths.append(Files(build / "runtime/c" / SONAME, build / "generated/shaders.slpack"))
    prefix = above.parents[1] if len(above.parents) > 1 else above
    installed = sorted(prefix.glob(f"lib*/{SONAME}")) + sorted(prefix.glob(f"lib/*/{SONAME}"))
    paths += [Files(library, above / "shaders_all.slpack") for library in installed]
    return paths


def find() -> Files | None:
    """The first existing candidate; SPIRLOOM_LIBRARY and SPIRLOOM_SHADERS override its paths."""
    found = next((files for files in candidates() if files.library.exists()), None)
    library, shaders = os.environ.get(LIBRARY_VARIABLE), os.environ.get(SHADERS_VARIABLE)
    if library is None and found is None:
        return None
    default = found or Files(Path(library or ""), Path(library or "").parent / "shaders_all.slpack")
    return Files(
        Path(library) if library else default.library, Path(shaders) if shaders else default.shaders
    )


class Native:
    """libspirloom. ctypes releases the GIL during each call."""

    def __init__(self, files: Files) -> None:
        """Opens the library. Unavailable if that fails or if its ABI version differs."""
        self.files = files
        self.forks = forks
        try:
            self.library: Any = ctypes.CDLL(str(files.library))
            declare(self.library)
        except (OSError, AttributeError) as error:
            raise Unavailable(f"Cannot use {files.library}: {error}.") from error
        version = self.library.spirloom_abi_version()
        if version != ABI_VERSION:
            raise Unavailable(
                f"{files.library} has ABI version {version}; this package requires {ABI_VERSION}."
            )

    def function(self, name: str) -> Callable[..., Any]:
        """The function spirloom_<name>."""
        found: Callable[..., Any] = getattr(self.library, f"spirloom_{name}")
        return found

    def call(self, name: str, *arguments: Any) -> None:
        """Calls spirloom_<name>() and raises its error, if any."""
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
        """The object that spirloom_<name>() returns through its output parameter."""
        created = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(created))
        return Handle(created.value, self.function(destroy))

    def text(self, name: str, *arguments: Any) -> str:
        """The string that spirloom_<name>() returns; "" for NULL."""
        text: bytes | None = self.function(name)(*arguments)
        return (text or b"").decode(errors="replace")


class Handle:
    """Owns an object of the library and destroys it with the last reference to the handle.

    A forked process does not destroy it: the object belongs to the parent.
    """

    __slots__ = ("__weakref__", "_destroy", "_forks", "keeps", "value")

    def __init__(self, value: int | None, destroy: Callable[[int | None], None]) -> None:
        self.value = value
        self.keeps: object = None  # objects to keep alive, such as callbacks
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
    """The library. Unavailable if it is missing; Unsupported in a forked process."""
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
        paths = "".join(f"\n - {files.library}" for files in candidates())
        raise Unavailable(
            f"{SONAME} was not found. Install the wheel (pip install), build it with "
            f"`./dev build`, or set {LIBRARY_VARIABLE} to its path. Searched:{paths}"
        )
    return files
