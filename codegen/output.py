"""The request of `generate`, and its output directory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from spec_model.files import write_atomically


@dataclass(frozen=True, slots=True)
class Request:
    """The inputs, options and output directory of a run."""

    spec_dirs: tuple[Path, ...]
    template_dirs: tuple[Path, ...]
    out: Path
    library: str
    overrides: bool
    depfile: Path | None
    root: Path
    selection: Path | None = None  # output of `select`; None: all variants
    state: Path | None = None  # state file of incremental runs
    test_kernels: bool = False  # only ops with test-only kernels, with these


@dataclass(slots=True)
class Output:
    """Writes the files of a run in `directory` if their bytes change, and removes stale ones.

    `in_place`: existing files are overwritten, which is much faster but not atomic: the next run
    must repair the files of an interrupted one.
    """

    directory: Path
    in_place: bool = False
    changed: list[str] = field(default_factory=list)
    written: set[str] = field(default_factory=set)

    def write(self, name: str, text: str) -> None:
        """Writes the file if its text changes; atomically, unless `in_place`."""
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, data: bytes) -> None:
        """As `write`."""
        self.written.add(name)
        path = self.directory / name
        try:
            if path.read_bytes() == data:
                return
            write = _overwrite if self.in_place else write_atomically
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            write = write_atomically
        write(path, data)
        self.changed.append(name)

    def remove_stale(self, patterns: Iterable[str]) -> None:
        """Removes matching files that this run did not write."""
        for pattern in patterns:
            for path in self.directory.glob(pattern):
                name = path.relative_to(self.directory).as_posix()
                if name not in self.written:
                    path.unlink(missing_ok=True)
                    self.changed.append(name)


def _overwrite(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()
