"""`load_library`, and what files are called in messages and products."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from codegen.errors import Position, SpecError
from codegen.loader import Library, load_folders
from codegen.templates import Folder, Templates

ROOT = Path(__file__).resolve().parent.parent


def load_library(
    spec_dirs: Iterable[str | Path], template_dirs: Iterable[str | Path], root: Path = ROOT
) -> Library:
    """Every op of the spec folders. Later template folders are searched first.

    Raises SpecError with every mistake found, one line each.
    """
    templates = Templates([named_folder(folder, root) for folder in template_dirs])
    return load_folders([named_folder(folder, root) for folder in spec_dirs], templates)


def named_folder(path: str | Path, root: Path = ROOT) -> Folder:
    """The folder; its name is relative to `root`, or else its last part, on every machine alike."""
    full = Path(path).resolve()
    if not full.is_dir():
        raise SpecError.at(Position(str(path)), "Folder does not exist.")
    if full.is_relative_to(root.resolve()):
        return Folder(full, full.relative_to(root.resolve()).as_posix())
    return Folder(full, full.name)
