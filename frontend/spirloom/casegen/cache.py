"""Caches the cases of each operator: an edit of a spec regenerates only its cases."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from spec_model import Library, Op
from spec_model.files import replaced
from spec_model.yaml_reader import SourceFile, read_text
from spirloom.casegen import case_pack
from spirloom.casegen.make import cases_of

# The modules that cases depend on.
GENERATORS = (
    "spec_model",
    "spirloom.casegen",
    "spirloom.constants_file",
    "spirloom.deferred",
    "spirloom.equal_constants",
    "spirloom.errors",
    "spirloom.facts",
    "spirloom.graph_file",
    "spirloom.ir",
    "spirloom.mapped_file",
    "spirloom.number_expr",
    "spirloom.schema_bindings",
    "spirloom.sizes",
    "spirloom.terminal",
    "spirloom_schema",
)


class PackCache:
    """A directory with a pack for each operator, named by a digest of its inputs.

    Without a directory, every pack is generated.
    """

    def __init__(self, library: Library, directory: Path | None) -> None:
        self._library, self._directory = library, directory
        self._common = _digest_of(generators(), b"") + _digest_of_texts(library)
        self._specs = {spec.name: spec for spec in library.specs}
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)

    def pack(self, op: Op, check: Callable[[Op], None]) -> bytes:
        """The pack of an op, after a check if it is not cached. Raises SpecError for invalid
        cases."""
        if self._directory is None:
            check(op)
            return case_pack.to_bytes(cases_of(op))
        path = self._directory / f"{op.short_name}.{self._key(op)}.slcases"
        if path.is_file():
            return path.read_bytes()
        check(op)
        packed = case_pack.to_bytes(cases_of(op))
        for old in self._directory.glob(f"{op.short_name}.*.slcases"):
            old.unlink()
        with replaced(path, durable=False) as stream:
            stream.write(packed)
        return packed

    def _key(self, op: Op) -> str:
        spec = read_text(self._specs[op.position.file]).encode()
        return _digest_of(references_of(op), self._common + spec).hex()


def inputs_of(library: Library) -> set[Path]:
    """The files that the cases depend on, and their directories, for new files."""
    read = {source.path for source in (*library.specs, *_sidecars(library))}
    read |= {path for op in library.ops.values() for path in references_of(op)}
    directories = {path.parent for path in read}
    directories |= {directory.path for directory in library.templates.directories}
    return read | directories | set(generators())


def references_of(op: Op) -> list[Path]:
    """The modules that a reference may import."""
    return op.reference.directory.ending(".py") if op.reference.files else []


def generators() -> list[Path]:
    """The source files of the modules that generate cases."""
    modules = ((name, getattr(module, "__file__", None)) for name, module in sys.modules.items())
    return sorted(Path(file).resolve() for name, file in modules if file and _is_generator(name))


def _is_generator(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in GENERATORS)


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
