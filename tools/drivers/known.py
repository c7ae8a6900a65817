"""Known failures of a driver: cases that fail by a property of the driver, with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import yaml


@dataclass(slots=True)
class Property:
    """A property of the driver, and patterns of the cases that it makes fail."""

    because: str
    cases: tuple[str, ...]
    matched: set[str] = field(default_factory=set)  # patterns that a failure matched


def read(path: Path) -> list[Property]:
    """Reads a list of `because` and `cases`."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [Property(entry["because"], tuple(entry["cases"])) for entry in entries]


def unknown(failures: Iterable[str], properties: list[Property]) -> list[str]:
    """The failures that no property explains."""
    return [name for name in failures if not _explained(name, properties)]


def _explained(name: str, properties: list[Property]) -> bool:
    found = False
    for entry in properties:
        matching = {pattern for pattern in entry.cases if fnmatchcase(name, pattern)}
        entry.matched |= matching
        found = found or bool(matching)
    return found


def unused(properties: list[Property]) -> list[str]:
    """The patterns that no failure matched."""
    return [
        pattern for entry in properties for pattern in entry.cases if pattern not in entry.matched
    ]
