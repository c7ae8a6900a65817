"""The built-in operators as loaded from their specs, cached by the contents of the files that they
depend on: reading the specs takes ten times as long.

The cache is a pickle, as trusted as the user's home: a file or directory that another user owns or
may write is not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from spec_model.cache_directory import cache_directory
from spec_model.op import Op
from spec_model.pickled import dumps, loads, no_collections
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES, PACKAGE, Directory, Templates
from spec_model.yaml_reader import SourceFile

_KEPT = 4  # files of other contents


def cached(directory: Directory, templates: Templates, load: Callable[[], list[Op]]) -> list[Op]:
    """The operators of a directory of specs: those that `load` returns for the files of the
    directory. Cached for the built-in one, unless further templates replace built-in ones."""
    if directory.path != BUILTIN_SPECS or _replaced(templates):
        return load()
    path = _path(directory)
    if path is None:
        return load()
    found = _read(path)
    if found is None:
        with no_collections():
            ops = load()
        # Also those of specs that were loaded before.
        read = templates.files.items()
        own = {name: file for name, file in read if file.path.is_relative_to(BUILTIN_TEMPLATES)}
        _write(path, (ops, own))
        return ops
    ops, files = found
    templates.files |= files
    return ops


def _replaced(templates: Templates) -> bool:
    """Whether a template of other directories has the name of a built-in one, or there are no
    built-in ones."""
    names = [{path.name for path in d.ending("")} for d in templates.directories]
    builtin = [d.path == BUILTIN_TEMPLATES for d in templates.directories]
    if builtin.count(True) != 1 or not builtin[0]:
        return True
    return any(names[0] & other for other in names[1:])


def _path(directory: Directory) -> Path | None:
    """The file for the current contents; None if there is no safe directory."""
    digest = hashlib.sha256(f"{sys.version} {directory}".encode())
    for root, suffixes in ((PACKAGE, (".py", ".inc")), (BUILTIN_SPECS, (".yaml", ".py")),
                           (BUILTIN_TEMPLATES, (".yaml", ".j2"))):  # fmt: skip
        for file in _files(root, suffixes):
            data = file.read_bytes()
            digest.update(f"{file.relative_to(root)} {len(data)}\n".encode())
            digest.update(data)
    try:
        folder = cache_directory() / "specs"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home, or a read-only one
        return None
    return folder / f"{digest.hexdigest()}.pickle" if _is_own(folder) else None


def _files(root: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            if name.endswith(suffixes):
                yield Path(folder, name)


def _is_own(path: Path) -> bool:
    """Whether nobody else can have written it."""
    if os.name == "nt":
        return True
    found = path.stat()
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _read(path: Path) -> tuple[list[Op], dict[str, SourceFile]] | None:
    """The operators and the template files that they depend on; None if there is no usable file."""
    try:
        if not _is_own(path):
            return None
        data = path.read_bytes()
    except OSError:
        return None
    length = hashlib.sha256().digest_size
    if hashlib.sha256(data[length:]).digest() != data[:length]:
        return None  # of a full disk
    found: tuple[list[Op], dict[str, SourceFile]] = loads(data[length:])
    return found


def _write(path: Path, value: object) -> None:
    """Writes the file at once, and removes the oldest ones. A failure has no consequence."""
    data = dumps(value)
    with contextlib.suppress(OSError):
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(hashlib.sha256(data).digest() + data)
        Path(file.name).replace(path)
        files = sorted(path.parent.glob("*.pickle"), key=lambda f: f.stat().st_mtime)
        for old in files[:-_KEPT]:
            old.unlink()
