"""SwiftShader: Google's software driver, from Debian's package of Chromium.

Its subgroups have 4 invocations, its workgroups at most 256, and it has no 8-bit or 16-bit storage:
limits of many mobile GPUs, which Mesa's llvmpipe does not have.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

PACKAGE = "chromium-common"
_INSTALLED = Path("/usr/lib/chromium/vk_swiftshader_icd.json")
_FILES = ("libvk_swiftshader.so", "vk_swiftshader_icd.json")


class DriverError(Exception):
    """The driver cannot be had. The message contains the remedy."""


def find_or_download(directory: Path) -> Path:
    """The driver's description for the loader: of the installed package, or unpacked in
    `directory`, where the package is downloaded once (31 MB). Raises DriverError.
    """
    if _INSTALLED.exists():
        return _INSTALLED
    unpacked = directory / _FILES[1]
    if not unpacked.exists():
        _unpack(directory)
    return unpacked


def _unpack(directory: Path) -> None:
    """Both files appear at once: a directory that is renamed when it is complete."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent) as scratch:
        _download(Path(scratch))
        (package,) = Path(scratch).glob(f"{PACKAGE}_*.deb")
        complete = Path(scratch) / "complete"
        complete.mkdir()
        archive = subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE, cwd=scratch
        )
        members = [f"./usr/lib/chromium/{name}" for name in _FILES]
        unpack = ["tar", "-x", "--strip-components=4", "-C", str(complete), *members]
        status = subprocess.run(unpack, stdin=archive.stdout, check=False).returncode
        if archive.wait() != 0 or status != 0:
            raise DriverError(f"{package.name} does not contain {' and '.join(_FILES)}.")
        complete.replace(directory)


def _download(directory: Path) -> None:
    """Downloads the package; the second try follows an update of the lists of packages."""
    download = ["apt-get", "download", "-q", PACKAGE]
    for attempt in (download, ["apt-get", "update", "-q"], download):
        try:
            ran = subprocess.run(
                attempt, cwd=directory, capture_output=True, text=True, check=False
            )
        except FileNotFoundError as error:
            raise DriverError("apt-get is missing: SwiftShader comes from Debian.") from error
        if ran.returncode == 0 and attempt is download:
            return
    raise DriverError(
        f"'{' '.join(download)}' failed: {ran.stderr.strip()}\n"
        f"Run apt-get update as root, or install {PACKAGE}."
    )
