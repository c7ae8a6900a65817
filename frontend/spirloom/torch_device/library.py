"""The libraries of the device: one for each minor version of PyTorch."""

from __future__ import annotations

import re
from pathlib import Path

from spirloom.runtime.errors import Unsupported
from spirloom.runtime.native import PACKAGE

_NAME = re.compile(r"(?:lib)?spirloom_torch_(\d+\.\d+)\.(?:so|dll|dylib)")


def directories() -> tuple[Path, ...]:
    """Where the libraries may be: in the wheel, and in the build of a source tree."""
    return PACKAGE / "_native", PACKAGE.parents[1] / "build/release/integrations/torch"


def minor_version(version: str) -> str:
    """ "2.13" for "2.13.0+cpu"."""
    return ".".join(version.split("+")[0].split(".")[:2])


def builds() -> dict[str, Path]:
    """The libraries by PyTorch's minor version; the first directory that has one counts."""
    found: dict[str, Path] = {}
    for directory in directories():
        if directory.is_dir():
            for path in sorted(directory.iterdir()):
                if match := _NAME.fullmatch(path.name):
                    found.setdefault(match[1], path)
    return found


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def path_for(version: str) -> Path:
    """The library for a version of PyTorch. Unsupported with both versions if there is none."""
    found = builds()
    if path := found.get(minor_version(version)):
        return path
    available = ", ".join(sorted(found, key=_order))
    builds_text = f"builds for PyTorch {available}" if available else "no builds"
    raise Unsupported(
        f"The device 'vulkan' has no build for PyTorch {version}: this package contains "
        f"{builds_text}. Install such a version of PyTorch, or build the device from the source "
        "distribution with cmake -DSPIRLOOM_TORCH_PYTHONS=python3."
    )
