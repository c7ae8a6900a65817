"""Operators that were read once, in a file: loading them needs neither PyYAML nor the specs.

`python3 -m codegen.stored --spec-dir DIR --template-dir DIR --out FILE` makes it. It is a part of
an installed package, a pickle, and as trusted as the package's modules.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from codegen.expr import operations
from codegen.expr.types import Operation
from codegen.for_tests import without_test_kernels
from codegen.library import load_library
from codegen.op import Op


class _Pickler(pickle.Pickler):
    """Names the operations of expressions, which hold functions, by their places."""

    def __init__(self, file: BytesIO) -> None:
        super().__init__(file, protocol=5)
        self._places = {id(operation): i for i, operation in enumerate(_operations())}

    def persistent_id(self, value: object) -> int | None:
        """The place of an operation."""
        return self._places[id(value)] if isinstance(value, Operation) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BytesIO) -> None:
        super().__init__(file)
        self._operations = list(_operations())

    def persistent_load(self, place: int) -> Operation:
        """The operation at a place."""
        return self._operations[place]


def _operations() -> Iterator[Operation]:
    """Every operation of the language, in an order that the source decides."""
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
    """Writes the operators, but for what tests them."""
    file = BytesIO()
    _Pickler(file).dump({name: _untested(op) for name, op in ops.items()})
    path.write_bytes(file.getvalue())


def _untested(op: Op) -> Op:
    nowhere = replace(op.reference, folder=Path(), files=())
    return replace(op, tests=(), reference=nowhere)


def load(path: Path) -> dict[str, Op]:
    """The operators in the file, by name: without tests, and with references that do not run."""
    ops: dict[str, Op] = _Unpickler(BytesIO(path.read_bytes())).load()
    return ops


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
