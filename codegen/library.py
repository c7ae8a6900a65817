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

    Messages and products name files relative to `root`, the project that the folders are part of.
    Raises SpecError with every mistake found, one line each.
    """
    templates = open_templates(template_dirs, root)
    return load_folders([named_folder(folder, root) for folder in spec_dirs], templates)


def open_templates(folders: Iterable[str | Path], root: Path = ROOT) -> Templates:
    """The templates of some folders, named relative to `root`."""
    return Templates([named_folder(folder, root) for folder in folders])


def named_folder(path: str | Path, root: Path = ROOT) -> Folder:
    """The folder, named alike on every machine: relative to Spirloom or `root`, or by its name."""
    full = Path(path).resolve()
    if not full.is_dir():
        raise SpecError.at(Position(str(path)), "Folder does not exist.")
    for base in (ROOT, root.resolve()):
        if full.is_relative_to(base):
            return Folder(full, full.relative_to(base).as_posix())
    return Folder(full, full.name)
