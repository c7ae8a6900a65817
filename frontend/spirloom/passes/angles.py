"""Cosines and sines of rotary embeddings: one for each pair, of tables that have each twice."""

from __future__ import annotations

import numpy as np

from spirloom.ir import Array, Node, Tensor, constant
from spirloom.ops import OpLibrary
from spirloom.passes.pairs import CAT, SLICE, UNSQUEEZE, joined
from spirloom.passes.rewrite import COPY, Matcher
from spirloom.passes.views import VIEW

EXPAND, REPEAT = "aten.expand", "aten.repeat_interleave.self_int"
_ROWS_KEPT = (VIEW, UNSQUEEZE, EXPAND)
_MOST_NODES = 12


class Angles:
    """Tables by pairs, each made once; the nodes that make them are appended to `nodes`."""

    def __init__(self, library: OpLibrary, matcher: Matcher, nodes: list[Node]) -> None:
        self._library = library
        self._matcher = matcher
        self._nodes = nodes
        self._made: dict[tuple[Tensor, bool], Tensor | None] = {}
        self._cut: dict[tuple[Tensor, bool], Tensor] = {}

    def by_pair(self, table: Tensor, interleaved: bool) -> Tensor | None:
        """Of a table for elements; None if the elements of a pair may differ."""
        key = (table, interleaved)
        if key not in self._made:
            found = self._by_pair(table, interleaved)
            self._made[key] = None if found is None else self.ranked(found)
        return self._made[key]

    def ranked(self, table: Tensor) -> Tensor:
        """A table that has a dim of positions too."""
        return table if len(table.shape) > 1 else self._viewed(table, (1, *table.shape))

    def _by_pair(self, table: Tensor, interleaved: bool) -> Tensor | None:
        if not table.shape or table.shape[-1] % 2 or not self._is_double(table, interleaved):
            return None
        if table.data is not None:
            return constant(table.name, _firsts(table.data, interleaved))
        root = self._root(table)
        if (root, interleaved) not in self._cut:
            self._cut[root, interleaved] = self._firsts_of(root, interleaved)
        shape = (*table.shape[:-1], table.shape[-1] // 2)
        return self._viewed(self._cut[root, interleaved], shape)

    def _is_double(self, table: Tensor, interleaved: bool, most: int = _MOST_NODES) -> bool:
        if table.data is not None:
            first, second = _firsts(table.data, interleaved), _seconds(table.data, interleaved)
            return bool(np.array_equal(first, second, equal_nan=table.data.dtype.kind == "f"))
        node = self._matcher.producer(table)
        if node is None or most == 0:
            return False
        x = node.args[0]
        if node.op == REPEAT:
            last = len(table.shape) - 1
            return interleaved and node.args[1] == 2 and node.args[2] in ((-1,), (last,))
        if node.op in (CAT, VIEW):
            join = joined(self._matcher, table)
            if join is not None and join.interleaved == interleaved and join.shape == table.shape:
                return join.first is join.second
        if node.op in _ROWS_KEPT and isinstance(x, Tensor):
            kept = bool(x.shape) and x.shape[-1] == table.shape[-1]
            return kept and self._is_double(x, interleaved, most - 1)
        if node.op != COPY and not self._library.is_elementwise(node.op):
            return False
        wide = [t for t in node.inputs() if t.shape and t.shape[-1] != 1]
        return all(self._is_double(t, interleaved, most - 1) for t in wide)

    def _root(self, table: Tensor) -> Tensor:
        """What has the same rows before dims were added."""
        node = self._matcher.producer(table, VIEW, UNSQUEEZE)
        x = node.args[0] if node is not None else None
        if not isinstance(x, Tensor) or not x.shape or x.shape[-1] != table.shape[-1]:
            return table
        return self._root(x)

    def _firsts_of(self, x: Tensor, interleaved: bool) -> Tensor:
        size = x.shape[-1]
        part = {"end": size, "step": 2} if interleaved else {"end": size // 2, "step": 1}
        given = {"x": x, "dim": len(x.shape) - 1, "start": 0, **part}
        return self._emit(SLICE, given, (*x.shape[:-1], size // 2), x)

    def _viewed(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        if x.shape == shape:
            return x
        if x.data is not None:
            return constant(x.name, x.data.reshape(shape))
        return self._emit(VIEW, {"x": x, "size": shape}, shape, x)

    def _emit(self, op: str, args: dict[str, object], shape: tuple[int, ...], x: Tensor) -> Tensor:
        made = Tensor(x.name, x.dtype, shape)
        maker = self._matcher.producer(x)
        name = maker.name if maker is not None else x.name
        self._nodes.append(Node(op, self._library.complete(op, args), (made,), name))
        return made


def _firsts(data: Array, interleaved: bool) -> Array:
    return data[..., ::2] if interleaved else data[..., : data.shape[-1] // 2]


def _seconds(data: Array, interleaved: bool) -> Array:
    return data[..., 1::2] if interleaved else data[..., data.shape[-1] // 2 :]
