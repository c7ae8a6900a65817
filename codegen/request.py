"""What `generate` is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Request:
    """What to generate, from what, and where."""

    spec_dirs: tuple[Path, ...]
    template_dirs: tuple[Path, ...]
    out: Path
    library: str
    overrides: bool
    depfile: Path | None
    root: Path
    selection: Path | None = None  # of `select`; None: everything
    state: Path | None = None  # where a run leaves what the next one may use
    test_kernels: bool = False  # the ops that have kernels for tests, with these, and no others
