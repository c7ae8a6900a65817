"""Mesa's driver for NVIDIA GPUs (NVK, whose compiler is NAK), from Debian 13, not installed.

It is written in Rust and needs a newer C library than Debian 12's. Debian 13's C library is
unpacked with it, and its dynamic linker starts the program that loads the driver.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.drivers.debian_packages import unpack_packages, with_own_library
from tools.drivers.swiftshader import DriverError

PACKAGES = ("mesa-vulkan-drivers", "libc6", "libdrm2")
_SOURCE = (
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
    "http://deb.debian.org/debian trixie main\n"
)
_DESCRIPTION = "nouveau_icd.json"


@dataclass(frozen=True, slots=True)
class Nvk:
    """The loader's description of the driver, and the command before the program that loads it."""

    description: Path
    command: tuple[str, ...]


def find_or_download(directory: Path) -> Nvk:
    """The driver, which is downloaded once (17 MB) and unpacked in `directory`.

    Raises DriverError.
    """
    directory = directory.resolve()  # apt reads relative paths from its own directory
    if not (directory / _DESCRIPTION).exists():
        _unpack(directory)
    return unpacked(directory)


def unpacked(directory: Path) -> Nvk:
    """The driver that was unpacked in `directory`. Raises DriverError."""
    return Nvk(directory / _DESCRIPTION, with_own_library(directory))


def _unpack(directory: Path) -> None:
    """All files appear at once: a directory that is renamed when it is complete."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent) as name:
        scratch = Path(name)
        complete = unpack_packages(scratch, _SOURCE, PACKAGES)
        drivers = sorted(complete.glob("usr/lib/*/libvulkan_nouveau.so"))
        if not drivers:
            raise DriverError("Debian 13's mesa-vulkan-drivers has no driver for NVIDIA GPUs.")
        content = {
            "library_path": f"./{drivers[0].relative_to(complete)}",
            "api_version": "1.4.305",
        }
        text = json.dumps({"file_format_version": "1.0.0", "ICD": content})
        (complete / _DESCRIPTION).write_text(text, encoding="utf-8")
        complete.replace(directory)
