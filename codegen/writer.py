"""The output folder: files are written only if their bytes change, and stale ones removed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from codegen.regular_file import replaced


@dataclass(slots=True)
class Output:
    """Collects the files of a run below `folder`. `in_place`: files that are there are overwritten,
    which is faster by far; a run that is cut off then leaves what the next one must put right."""

    folder: Path
    in_place: bool = False
    changed: list[str] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)

    def write(self, name: str, text: str) -> None:
        """Writes the file, unless it holds the text already. Unless `in_place`, readers never see
        half of it."""
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, data: bytes) -> None:
        """As `write`."""
        self.kept.add(name)
        path = self.folder / name
        try:
            if path.read_bytes() == data:
                return
            put = _overwrite if self.in_place else write_atomically
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            put = write_atomically
        put(path, data)
        self.changed.append(name)

    def remove_stale(self, patterns: Iterable[str]) -> None:
        """Removes files that match but were not written in this run."""
        for pattern in patterns:
            for path in self.folder.glob(pattern):
                name = path.relative_to(self.folder).as_posix()
                if name not in self.kept:
                    path.unlink(missing_ok=True)
                    self.changed.append(name)


def _overwrite(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


def write_atomically(path: Path, data: bytes) -> None:
    """Puts the file in place in one step. It can be made again, so no time is spent on the disk."""
    with replaced(path, durable=False) as stream:
        stream.write(data)
