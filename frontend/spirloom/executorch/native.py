"""Opens libspirloom_executorch.so, which registers its backends with ExecuTorch."""

from __future__ import annotations

import ctypes
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spirloom.runtime.errors import Unavailable

LIBRARY_VARIABLE = "SPIRLOOM_EXECUTORCH_LIBRARY"
_NAME = "libspirloom_executorch.so"
_PACKAGE = Path(__file__).resolve().parents[1]  # the directory of `spirloom`


class NotInstalled(Unavailable):
    """The backend library, or ExecuTorch's runtime, is not on this machine."""


class NativeBackend:
    """The opened library."""

    def __init__(self, library: Any) -> None:
        self._library = library
        library.spirloom_executorch_last_error.restype = ctypes.c_char_p
        library.spirloom_executorch_is_registered.argtypes = [ctypes.c_char_p]

    @classmethod
    def load(cls, *names: str) -> NativeBackend:
        """Opens both runtimes. NotInstalled if one is missing; Unavailable if it cannot be opened
        or if one of the names is taken.
        """
        _open_runtime()
        path = library_path()
        try:
            backend = cls(ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL))
        except (OSError, AttributeError) as error:
            raise Unavailable(f"Cannot use {path}: {error}.") from error
        for name in names:
            if not backend._library.spirloom_executorch_is_registered(name.encode()):
                raise Unavailable(
                    f"Another backend is registered as {name} with ExecuTorch in this process."
                )
        return backend

    def last_error(self) -> str:
        """The message of the thread's last error."""
        text: bytes = self._library.spirloom_executorch_last_error()
        return text.decode(errors="replace")


def candidates() -> list[Path]:
    """The search paths: the wheel, a build of the repository."""
    build = _PACKAGE.parents[1] / "build/release/integrations/executorch"
    return [_PACKAGE / "_native" / _NAME, build / _NAME]


def library_path() -> Path:
    """SPIRLOOM_EXECUTORCH_LIBRARY, or the first existing candidate. NotInstalled if none exists."""
    if named := os.environ.get(LIBRARY_VARIABLE):
        return Path(named)
    for path in candidates():
        if path.exists():
            return path
    paths = "".join(f"\n - {path}" for path in candidates())
    raise NotInstalled(
        f"{_NAME} was not found. Build it with -DSPIRLOOM_EXECUTORCH=ON "
        f"(page 'Run an ExecuTorch program' of the documentation), or set {LIBRARY_VARIABLE} to "
        f"its path. Searched:{paths}"
    )


def _open_runtime() -> None:
    """Opens the ExecuTorch runtime that `executorch.runtime` uses; the library links to it."""
    spec = find_spec("executorch")
    packages = list(spec.submodule_search_locations or ()) if spec is not None else []
    libraries = [Path(package) / "lib" / "libexecutorch.so" for package in packages]
    library = next((path for path in libraries if path.exists()), None)
    if library is None:
        where = f" in {', '.join(map(str, packages))}" if packages else ""
        raise NotInstalled(
            f"libexecutorch.so was not found{where}. Install ExecuTorch: "
            "pip install executorch==1.5.1."
        )
    try:
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise Unavailable(f"Cannot use {library}: {error}.") from error
