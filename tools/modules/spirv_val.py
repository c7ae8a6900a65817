"""The newest spirv-val: of Debian testing, unpacked with its C library, not installed."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.drivers.debian_packages import unpack_packages, with_own_library
from tools.drivers.swiftshader import DriverError

PACKAGES = ("spirv-tools", "libstdc++6", "libgcc-s1", "libc6")
_SOURCE = (
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
    "http://deb.debian.org/debian testing main\n"
)


def find_or_download(directory: Path) -> tuple[str, ...]:
    """The command that runs spirv-val, which is downloaded once (6 MB) and unpacked in `directory`.

    Raises DriverError.
    """
    directory = directory.resolve()  # apt reads relative paths from its own directory
    program = directory / "usr" / "bin" / "spirv-val"
    if not program.exists():
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as name:
            unpack_packages(Path(name), _SOURCE, PACKAGES).replace(directory)
    return *with_own_library(directory), str(program)


def version_of(validator: Sequence[str]) -> str:
    """E.g. "SPIRV-Tools v2026.4". Raises DriverError if the program does not run."""
    done = subprocess.run([*validator, "--version"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DriverError(f"'{validator[-1]}' does not run: {done.stderr.strip()}")
    return " ".join(done.stdout.split()[:2])


def violation(validator: Sequence[str], code: bytes, target: str) -> str:
    """The message of spirv-val about a module for a target, e.g. "vulkan1.1"; empty if it is
    valid.
    """
    command = [*validator, "--target-env", target, "-"]
    done = subprocess.run(command, input=code, capture_output=True, check=False)
    if done.returncode == 0:
        return ""
    text = (done.stderr + done.stdout).decode(errors="replace").strip()
    return text or f"{Path(validator[-1]).name} ended with {done.returncode}."
