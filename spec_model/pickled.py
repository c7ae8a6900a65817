"""Pickles of operators: expressions contain functions, which pickle cannot store."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from inspect import ismemberdescriptor
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any

from spec_model.expr import intervals, operations
from spec_model.expr.types import Operation
from spec_model.stored_dataclass import restored


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
        kind: Any = type(value)
        slots = _slots(kind)
        if slots is None:
            return NotImplemented
        return restored, (kind, *(getattr(value, name) for name in slots))


@cache
def _slots(kind: Any) -> tuple[str, ...] | None:
    """The fields of a dataclass with slots; None for other types."""
    names = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None
    if names is None or not all(ismemberdescriptor(getattr(kind, name, None)) for name in names):
        return None
    return names


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
    for module in (operations, intervals):
        for name in sorted(vars(module)):
            for operation in _within(getattr(module, name)):
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


def dumps(value: object) -> bytes:
    """A value that contains operators. References are stored without compiled expressions."""
    file = BytesIO()
    with no_collections():
        _Pickler(file).dump(value)
    return file.getvalue()


def loads(data: bytes) -> Any:
    """The value of `dumps`."""
    with no_collections():
        return _Unpickler(BytesIO(data)).load()


@contextmanager
def no_collections() -> Iterator[None]:
    """Disables the garbage collector, which would search all objects so far for cycles, of which
    there are none, again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
