"""Where libspirloom and its shaders are: in the wheel, in a build of the repository, installed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

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
