"""Mesa 25: the installed one of Debian 13, or from Debian 12's backports, unpacked, not installed.

Its llvmpipe is another driver for tests, and its AMD compiler knows newer GPUs.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from tools.drivers.debian_packages import unpack_packages
from tools.drivers.swiftshader import DriverError

PACKAGE = "mesa-vulkan-drivers"
VERSION = "25.0.7-2~bpo12+1"
_INSTALLED = Path("/usr/share/vulkan/icd.d")
_SOURCE = (
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
    "http://deb.debian.org/debian bookworm-backports main\n"
)


def find_or_download(directory: Path, driver: str) -> Path:
    """The description for the loader of a driver ("lvp" or "radeon") of the installed package if it
    is of the same version of Mesa; otherwise the package is downloaded once (11 MB) and unpacked in
    `directory`. Raises DriverError.
    """
    if installed_version().split("-")[0] == VERSION.split("-")[0]:
        return next(_INSTALLED.glob(f"{driver}_icd*.json"))
    description = directory / f"{driver}_icd.json"
    if not description.exists():
        _unpack(directory)
    library = directory / json.loads(description.read_text(encoding="utf-8"))["ICD"]["library_path"]
    if missing := missing_libraries(library):
        raise DriverError(
            f"Mesa {VERSION} needs {', '.join(missing)}, which this system lacks. Use Debian 12."
        )
    return description


def missing_libraries(library: Path) -> list[str]:
    """The libraries that a shared library needs and the dynamic linker does not find."""
    listed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line.endswith("=> not found")]


def installed_version() -> str:
    """The version of the installed package; empty if it is not installed."""
    command = ["dpkg-query", "-W", "-f", "${Version}", PACKAGE]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _unpack(directory: Path) -> None:
    """All files appear at once: a directory that is renamed when it is complete."""
    directory = directory.resolve()  # apt reads relative paths from its own directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent) as name:
        scratch = Path(name)
        complete = unpack_packages(scratch, _SOURCE, [f"{PACKAGE}={VERSION}"])
        for path in (complete / "usr" / "share" / "vulkan" / "icd.d").glob("*_icd*.json"):
            description = json.loads(path.read_text(encoding="utf-8"))
            (library,) = complete.glob(f"usr/lib/*/{Path(description['ICD']['library_path']).name}")
            description["ICD"]["library_path"] = f"./{library.relative_to(complete)}"
            driver = path.name.split("_icd", 1)[0]
            (complete / f"{driver}_icd.json").write_text(json.dumps(description), encoding="utf-8")
        complete.replace(directory)
