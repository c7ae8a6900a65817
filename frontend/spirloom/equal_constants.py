"""Finds constants with equal bytes. Few are read: most weights differ in a few bytes already."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

import numpy as np

from spirloom.constants_file import BLOCK_BYTES, bytes_of
from spirloom.deferred import Deferred
from spirloom.ir import Array
from spirloom.mapped_file import release_pages

_SAMPLES = 256  # bytes of a constant

T = TypeVar("T")


class EqualConstants(Generic[T]):
    """Maps the first of several constants with equal bytes and memory order to a value."""

    def __init__(self) -> None:
        # By object, so that no constant is read twice; it keeps the arrays, and so their ids.
        self._known: dict[Hashable, tuple[Array | Deferred, T]] = {}
        self._alike: dict[Hashable, list[tuple[Array | Deferred, T]]] = {}
        self._digests: dict[Hashable, bytes] = {}

    def setdefault(self, values: Array | Deferred, default: T) -> T:
        """The value of an equal constant that was added before; otherwise adds this one."""
        identity = _identity(values)
        if identity in self._known:
            return self._known[identity][1]
        alike = self._alike.setdefault(_sample(values), [])
        for other, value in alike:
            if self._digest(other) == self._digest(values):
                self._known[identity] = values, value
                return value
        alike.append((values, default))
        self._known[identity] = values, default
        return default

    def _digest(self, values: Array | Deferred) -> bytes:
        identity = _identity(values)
        if identity not in self._digests:
            self._digests[identity] = _digest(values)
        return self._digests[identity]


def _identity(values: Array | Deferred) -> Hashable:
    return ("deferred", values.key) if isinstance(values, Deferred) else id(values)


def _sample(values: Array | Deferred) -> Hashable:
    """A cheap key: equal for equal constants, and rarely equal for others."""
    if isinstance(values, Deferred):
        rows = [values.read(row, row + 1) for row in _chosen(len(values), 3)]
        return "deferred", values.nbytes, *(row.tobytes() for row in rows)
    raw = np.frombuffer(_in_memory_order(values), np.uint8)
    return values.nbytes, _is_transposed(values), raw[_chosen(raw.size, _SAMPLES)].tobytes()


def _chosen(size: int, count: int) -> Array:
    return np.linspace(0, size - 1, min(size, count), dtype=np.intp)


def _is_transposed(values: Array) -> bool:
    return values.flags.f_contiguous and not values.flags.c_contiguous


def _in_memory_order(values: Array) -> Any:
    return bytes_of(values.T if _is_transposed(values) else values)


def _digest(values: Array | Deferred) -> bytes:
    digest = hashlib.blake2b(digest_size=32)
    if isinstance(values, Deferred):
        for block in values.blocks(BLOCK_BYTES):
            digest.update(bytes_of(block))
    else:
        digest.update(_in_memory_order(values))
        release_pages(values)
    return digest.digest()
