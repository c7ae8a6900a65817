"""The weights of a model as the graph's operators take them, however its file has them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.family.config import Config
from spirloom.family.weights import Source, Stored
from spirloom.ir import Array
from spirloom.weight_numbers import Numbers

_QKV, _GATE_UP = "self_attn.qkv_proj", "mlp.gate_up_proj"
_TURNED = (".q_proj.", ".k_proj.", ".q_norm.", ".k_norm.")


class _Part(NamedTuple):
    """So many rows of a matrix that holds several, which has `of` rows."""

    whole: str
    first: int
    rows: int
    of: int


class Arranged:
    """A source of weights over another one.

    Matrices that are one in the file are taken apart; norms get the model's offset; and the rows of
    queries' and keys' heads are so ordered that the columns which positions turn together are half
    a head apart, those that are not turned behind those that are, half of them each.
    """

    def __init__(self, source: Source, config: Config) -> None:
        self._source = source
        self._offset = config.norm_offset
        self._order = _order(config)
        self._parts = _parts(config)
        self._last: tuple[str, Stored] | None = None

    def has(self, name: str) -> bool:
        """Whether there is such a tensor, by itself or in another one."""
        return self._source.has(self._holder(name)[0])

    def called(self, name: str) -> str:
        """What the file calls it, or what it is part of."""
        return self._source.called(self._holder(name)[0])

    def read(self, name: str) -> Stored:
        """Its floats or its numbers. Raises ImportFailure."""
        holder, part = self._holder(name)
        if self._last is None or self._last[0] != holder:
            self._last = holder, self._source.read(holder)
        stored = self._last[1]
        if part is not None:
            stored = _taken(stored, part, self.called(name))
        if self._order is not None and any(turned in name for turned in _TURNED):
            stored = _ordered(stored, self._order, self.called(name))
        if self._offset and name.endswith("norm.weight"):
            stored = _floats(stored).astype(np.float32) + np.float32(self._offset)
        return stored

    def _holder(self, name: str) -> tuple[str, _Part | None]:
        """The name of the tensor that holds one, and which part of that it is."""
        for own, part in self._parts.items():
            whole = name.replace(own, part.whole)
            if whole != name and not self._source.has(name) and self._source.has(whole):
                return whole, part
        return name, None


def _parts(config: Config) -> dict[str, _Part]:
    """By the names of layers, what may be part of another one."""
    columns = config.head_size
    of_layers = {
        _QKV: {
            "self_attn.q_proj": config.heads * columns,
            "self_attn.k_proj": config.cached_heads * columns,
            "self_attn.v_proj": config.cached_heads * columns,
        },
        _GATE_UP: {"mlp.gate_proj": config.inner, "mlp.up_proj": config.inner},
    }
    found = {}
    for whole, rows in of_layers.items():
        first = 0
        for name, count in rows.items():
            found[name] = _Part(whole, first, count, sum(rows.values()))
            first += count
    return found


def _order(config: Config) -> Array | None:
    """Of a head's columns; None: the one that the file has."""
    pairs, half = config.turned_pairs, config.head_size // 2
    if pairs == 0 or (pairs == half and not config.by_neighbours):
        return None
    columns = np.arange(2 * half)
    turned, rest = columns[: 2 * pairs], columns[2 * pairs :]
    by_pair = turned.reshape(-1, 2).T if config.by_neighbours else turned.reshape(2, -1)
    before, behind = np.split(rest, 2)
    order: Array = np.concatenate([by_pair[0], before, by_pair[1], behind])
    return order


def _taken(stored: Stored, part: _Part, called: str) -> Stored:
    rows = len(stored.values if isinstance(stored, Numbers) else stored)
    if rows != part.of:
        raise ImportFailure(
            f"Tensor {called!r} has {rows} rows, and {part.of} by the sizes that the model tells."
        )
    return _rows(stored, slice(part.first, part.first + part.rows))


def _ordered(stored: Stored, order: Array, called: str) -> Stored:
    rows = len(stored.values if isinstance(stored, Numbers) else stored)
    if rows % len(order):
        raise ImportFailure(
            f"Tensor {called!r} has {rows} rows, which are no heads of {len(order)}."
        )
    firsts = np.arange(0, rows, len(order))
    return _rows(stored, (firsts[:, None] + order).reshape(-1))


def _rows(stored: Stored, index: slice | Array) -> Stored:
    return stored.rows(index) if isinstance(stored, Numbers) else stored[index]


def _floats(stored: Stored) -> Array:
    return stored.floats() if isinstance(stored, Numbers) else stored
