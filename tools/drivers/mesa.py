"""A newer Mesa than the distribution's, from Debian's backports: unpacked, not installed.

Its llvmpipe is another driver for tests, and its AMD compiler knows newer GPUs.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from tools.drivers.swiftshader import DriverError

PACKAGE = "mesa-vulkan-drivers"
VERSION = "25.0.7-2~bpo12+1"
_SOURCE = (
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
    "http://deb.debian.org/debian bookworm-backports main\n"
)


def find_or_download(directory: Path, driver: str) -> Path:
    """The description for the loader of a driver ("lvp" or "radeon") of the package, which is
    downloaded once (11 MB) and unpacked in `directory`. Raises DriverError.
    """
    description = directory / f"{driver}_icd.json"
    if not description.exists():
        _unpack(directory)
    return description


def _unpack(directory: Path) -> None:
    """All files appear at once: a directory that is renamed when it is complete."""
    directory = directory.resolve()  # apt reads relative paths from its own directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent) as name:
        scratch = Path(name)
        _download(scratch)
        (package,) = scratch.glob(f"{PACKAGE}_*.deb")
        complete = scratch / "complete"
        _run(["dpkg-deb", "-x", str(package), str(complete)], scratch)
        for path in (complete / "usr" / "share" / "vulkan" / "icd.d").glob("*_icd*.json"):
            description = json.loads(path.read_text(encoding="utf-8"))
            (library,) = complete.glob(f"usr/lib/*/{Path(description['ICD']['library_path']).name}")
            description["ICD"]["library_path"] = f"./{library.relative_to(complete)}"
            driver = path.name.split("_icd", 1)[0]
            (complete / f"{driver}_icd.json").write_text(json.dumps(description), encoding="utf-8")
        complete.replace(directory)


def apt_options(scratch: Path, source: str) -> list[str]:
    """Options of apt-get for package lists of its own in `scratch`, from a line of sources.list."""
    for name in ("lists/partial", "cache/archives/partial"):
        (scratch / name).mkdir(parents=True)
    (scratch / "sources.list").write_text(source, encoding="utf-8")
    settings = {
        "Dir::Etc::SourceList": scratch / "sources.list",
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": scratch / "lists",
        "Dir::Cache": scratch / "cache",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def _download(scratch: Path) -> None:
    options = apt_options(scratch, _SOURCE)
    _run(["apt-get", *options, "update", "-q"], scratch)
    _run(["apt-get", *options, "download", "-q", f"{PACKAGE}={VERSION}"], scratch)


def _run(command: list[str], directory: Path) -> None:
    try:
        ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise DriverError(f"{command[0]} is missing: Mesa {VERSION} comes from Debian.") from error
    if ran.returncode != 0:
        raise DriverError(
            f"{PACKAGE} {VERSION} cannot be had from Debian's backports: {ran.stderr.strip()}"
        )
