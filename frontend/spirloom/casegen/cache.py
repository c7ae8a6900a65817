"""Keeps each operator's cases, so that an edit of one spec makes one operator's cases anew."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from codegen import Library, Op
from codegen.regular_file import replaced
from codegen.yaml_reader import SourceFile, read_text
from spirloom.casegen import case_pack
from spirloom.casegen.make import cases_of

# Whatever imports this module besides does not matter to cases.
MAKERS = (
    "codegen",
    "spirloom_schema",
    "spirloom.graph_file",
    "spirloom.bfloat16",
    "spirloom.casegen",
    "spirloom.constants_file",
    "spirloom.errors",
    "spirloom.graph_file",
    "spirloom.interval",
    "spirloom.ir",
    "spirloom.constants_file",
    "spirloom.graph_file",
    "spirloom.schema_bindings",
    "spirloom.sizes",
    "spirloom.terminal",
)


class PackCache:
    """A folder with a pack for each operator, named by all that it follows from.

    Without a folder every pack is made.
    """

    def __init__(self, library: Library, folder: Path | None) -> None:
        self._library, self._folder = library, folder
        self._common = _digest_of(made_by(), b"") + _digest_of_texts(library)
        self._specs = {spec.name: spec for spec in library.specs}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def pack(self, op: Op) -> bytes:
        """The op's pack. Fails with a SpecError at a mistake in its cases."""
        if self._folder is None:
            return case_pack.to_bytes(cases_of(op))
        path = self._folder / f"{op.short_name}.{self._key(op)}.slcases"
        if path.is_file():
            return path.read_bytes()
        packed = case_pack.to_bytes(cases_of(op))
        for old in self._folder.glob(f"{op.short_name}.*.slcases"):
            old.unlink()
        with replaced(path, durable=False) as stream:
            stream.write(packed)
        return packed

    def _key(self, op: Op) -> str:
        spec = read_text(self._specs[op.position.file]).encode()
        return _digest_of(references_of(op), self._common + spec).hex()


def inputs_of(library: Library) -> set[Path]:
    """The files and folders that the cases follow from; a folder for those to come."""
    read = {source.path for source in (*library.specs, *_sidecars(library))}
    read |= {path for op in library.ops.values() for path in references_of(op)}
    folders = {path.parent for path in read}
    return read | folders | {folder.path for folder in library.templates.folders} | set(made_by())


def references_of(op: Op) -> list[Path]:
    """The modules that its reference may come to use: they import each other."""
    return sorted(op.reference.folder.glob("*.py")) if op.reference.files else []


def made_by() -> list[Path]:
    """The modules that make cases."""
    modules = ((name, getattr(module, "__file__", None)) for name, module in sys.modules.items())
    return sorted(Path(file).resolve() for name, file in modules if file and _makes_cases(name))


def _makes_cases(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in MAKERS)


def _sidecars(library: Library) -> Iterator[SourceFile]:
    files = library.templates.files.values()
    return (source for source in files if source.path.suffix == ".yaml")


def _digest_of_texts(library: Library) -> bytes:
    texts = (f"{source.name}\n{read_text(source)}" for source in _sidecars(library))
    versions = f"{sys.version} {np.__version__}"
    return hashlib.sha256("\n".join([versions, *sorted(texts)]).encode()).digest()


def _digest_of(files: list[Path], more: bytes) -> bytes:
    digest = hashlib.sha256(more)
    for path in files:
        digest.update(f"{path}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.digest()[:12]
