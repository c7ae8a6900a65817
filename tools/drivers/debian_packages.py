"""Packages of Debian, of any release or repository: unpacked, not installed."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tools.drivers.swiftshader import DriverError


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


def unpack_packages(scratch: Path, source: str, packages: Sequence[str]) -> Path:
    """Downloads packages, each NAME or NAME=VERSION, of an entry of sources.list, and unpacks them
    in a directory of `scratch`, an absolute path. Returns that directory. Raises DriverError.
    """
    what = f"{', '.join(packages)} of '{source.strip()}'"
    options = apt_options(scratch, source)
    _run(["apt-get", *options, "update", "-q"], scratch, what)
    _run(["apt-get", *options, "download", "-q", *packages], scratch, what)
    complete = scratch / "complete"
    for package in sorted(scratch.glob("*.deb")):
        _run(["dpkg-deb", "-x", str(package), str(complete)], scratch, what)
    return complete


def with_own_library(directory: Path) -> tuple[str, ...]:
    """The command before a program that runs it with the C library of unpacked packages: their
    dynamic linker. Raises DriverError without one.
    """
    for linker in sorted(directory.glob("usr/lib/*/ld-linux-*.so.*")):
        return str(linker), "--library-path", str(linker.parent)
    raise DriverError(f"'{directory}' has no dynamic linker. Remove the directory to unpack again.")


def _run(command: list[str], directory: Path, what: str) -> None:
    try:
        ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise DriverError(f"{command[0]} is missing; it is needed for {what}.") from error
    if ran.returncode != 0:
        raise DriverError(f"Cannot get {what}: {ran.stderr.strip()}")
