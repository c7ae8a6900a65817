"""libspirloom_executorch.so, which registers its backend with ExecuTorch when it is opened."""

from __future__ import annotations

import ctypes
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spirloom.runtime.errors import Unavailable

LIBRARY_VARIABLE = "SPIRLOOM_EXECUTORCH_LIBRARY"
_NAME = "libspirloom_executorch.so"
_PACKAGE = Path(__file__).resolve().parents[1]  # the folder of `spirloom`


class NativeBackend:
    """The library, open."""

    def __init__(self, library: Any) -> None:
        self._library = library
        library.spirloom_executorch_last_error.restype = ctypes.c_char_p
        library.spirloom_executorch_is_registered.argtypes = [ctypes.c_char_p]

    @classmethod
    def load(cls, *names: str) -> NativeBackend:
        """Opens both runtimes. Unavailable when that fails, or when one of the names is taken."""
        _open_runtime()
        path = library_path()
        try:
            backend = cls(ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL))
        except (OSError, AttributeError) as error:
            raise Unavailable(f"Cannot use {path}: {error}.") from error
        for name in names:
            if not backend._library.spirloom_executorch_is_registered(name.encode()):
                raise Unavailable(f"ExecuTorch has another backend named {name} in this process.")
        return backend

    def last_error(self) -> str:
        """The last error's message."""
        text: bytes = self._library.spirloom_executorch_last_error()
        return text.decode(errors="replace")


def candidates() -> list[Path]:
    """Where the library may be: in the wheel, in a build of the repository."""
    build = _PACKAGE.parents[1] / "build/release/integrations/executorch"
    return [_PACKAGE / "_native" / _NAME, build / _NAME]


def library_path() -> Path:
    """The first that exists, or SPIRLOOM_EXECUTORCH_LIBRARY. Unavailable if none does."""
    if named := os.environ.get(LIBRARY_VARIABLE):
        return Path(named)
    for path in candidates():
        if path.exists():
            return path
    places = "".join(f"\n - {path}" for path in candidates())
    raise Unavailable(
        f"There is no {_NAME}. It is built with -DSPIRLOOM_EXECUTORCH=ON "
        f"(docs/tutorials/executorch.md); {LIBRARY_VARIABLE} names another. Looked for:{places}"
    )


def _open_runtime() -> None:
    """ExecuTorch's runtime, so that the library finds the one that `executorch.runtime` uses."""
    spec = find_spec("executorch")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    libraries = [Path(place) / "lib" / "libexecutorch.so" for place in places]
    library = next((path for path in libraries if path.exists()), None)
    if library is None:
        where = f" in {', '.join(map(str, places))}" if places else ""
        raise Unavailable(
            f"There is no ExecuTorch with a libexecutorch.so{where}: pip install executorch==1.5.1."
        )
    try:
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise Unavailable(f"Cannot use {library}: {error}.") from error
