"""Loaded operators stored in a file: reading it requires neither PyYAML nor the specs.

`python3 -m spec_model.stored --spec-dir DIR --template-dir DIR --out FILE` writes it. It is a
pickle in an installed package, and as trusted as the modules of the package.
"""

from __future__ import annotations

import argparse
import gc
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from inspect import ismemberdescriptor
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any

from spec_model.expr import operations
from spec_model.expr.types import Operation
from spec_model.library import without_test_kernels
from spec_model.load.loader import load_library
from spec_model.op import Op
from spec_model.reference import Reference
from spec_model.stored_dataclass import restored
from spec_model.templates import Directory


class _Pickler(pickle.Pickler):
    """Stores the operations of expressions, which contain functions, by index, paths as those of
    any system, and dataclasses with slots in a form that is read faster than their own."""

    def __init__(self, file: BytesIO) -> None:
        super().__init__(file, protocol=5)
        self._indices = {id(operation): i for i, operation in enumerate(_operations())}

    def persistent_id(self, value: object) -> int | None:
        """The index of an operation; None for other values."""
        return self._indices[id(value)] if isinstance(value, Operation) else None

    def reducer_override(self, value: object) -> Any:
        """How a path and a dataclass with slots are stored."""
        if isinstance(value, PurePath):  # a PosixPath cannot be loaded on Windows
            return Path, value.parts
        kind = type(value)
        if not is_dataclass(kind) or not all(
            ismemberdescriptor(getattr(kind, field.name, None)) for field in fields(kind)
        ):
            return NotImplemented
        return restored, (kind, *(getattr(value, field.name) for field in fields(kind)))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BytesIO) -> None:
        super().__init__(file)
        self._operations = list(_operations())

    def persistent_load(self, index: int) -> Operation:
        """The operation with an index."""
        return self._operations[index]


def _operations() -> Iterator[Operation]:
    """Every operation of the language, in an order determined by the source."""
    seen: set[int] = set()
    for name in sorted(vars(operations)):
        for operation in _within(getattr(operations, name)):
            if id(operation) not in seen:
                seen.add(id(operation))
                yield operation


def _within(value: object) -> Iterator[Operation]:
    if isinstance(value, Operation):
        yield value
    elif isinstance(value, operations.Signature):
        yield value.operation
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _within(item)
    elif isinstance(value, tuple):
        for item in value:
            yield from _within(item)


def store(ops: Mapping[str, Op], path: Path) -> None:
    """Writes the operators without tests, and references with paths relative to the specs."""
    file = BytesIO()
    _Pickler(file).dump({name: _without_paths(op) for name, op in ops.items()})
    path.write_bytes(file.getvalue())


def _without_paths(op: Op) -> Op:
    root = op.reference.directory.path
    files = tuple(file.relative_to(root) for file in op.reference.files)
    return replace(op, tests=(), reference=_moved(op.reference, Directory(Path(), ""), files))


def load(path: Path, specs: Path) -> dict[str, Op]:
    """The operators of the file, by name, without tests. Their references run the modules of
    `specs`, a copy of the directory of specs that they were stored from."""
    with _no_collections():
        ops: dict[str, Op] = _Unpickler(BytesIO(path.read_bytes())).load()
    directory = Directory(specs, specs.name)
    for name, op in ops.items():
        files = tuple(specs / file for file in op.reference.files)
        ops[name] = replace(op, reference=_moved(op.reference, directory, files))
    return ops


@contextmanager
def _no_collections() -> Iterator[None]:
    """Disables the garbage collector, which would search all objects so far for cycles, of which
    there are none, again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _moved(reference: Reference, directory: Directory, files: tuple[Path, ...]) -> Reference:
    return replace(reference, directory=directory, files=files, _compiled=[])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec-dir", type=Path, required=True)
    parser.add_argument("--template-dir", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    library = load_library([arguments.spec_dir], [arguments.template_dir])
    store(without_test_kernels(library).ops, arguments.out)


if __name__ == "__main__":
    main()
