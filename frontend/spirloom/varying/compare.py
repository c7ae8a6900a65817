"""Compares a graph with those of other sizes: what is the same, and which ints differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.interval import Interval
from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.varying.specialize import Sizes, sizes_text


@dataclass(slots=True)
class Comparison:
    """A graph of the greatest sizes, and how graphs of other sizes differ from it.

    `shapes` and `ints` have the values seen at each further point: of tensors, and of int
    arguments by node and position.
    """

    graph: Graph
    sizes: Sizes
    shapes: dict[Tensor, list[tuple[int, ...]]] = field(default_factory=dict)
    ints: dict[tuple[Node, int], list[tuple[int, ...]]] = field(default_factory=dict)
    _others: dict[Tensor, Tensor] = field(default_factory=dict)  # of the graph at hand

    def add(self, other: Graph, sizes: Sizes) -> None:
        """Takes in the graph of a further point. Raises ImportFailure for what may not differ."""
        self._others = {}
        here = f"at {sizes_text(sizes)}, not as at {sizes_text(self.sizes)}"
        pairs = list(zip(self.graph.inputs, other.inputs, strict=True))
        for mine, theirs in pairs:
            mine.bounds = _both(mine.bounds, theirs.bounds)
            self._pair(mine, theirs, f"input '{mine.name}'", here)
        for one, two in zip(self.graph.states, other.states, strict=True):
            self._pair(one.tensor, two.tensor, f"state '{one.tensor.name}'", here)
            if one.tensor.shape != two.tensor.shape:
                _refuse(f"state '{one.tensor.name}'", f"is {two.tensor} {here}")
        for own, node in zip(self.graph.nodes, other.nodes, strict=False):
            self._nodes(own, node, here)
        if len(self.graph.nodes) != len(other.nodes):
            raise ImportFailure(
                f"The graph has {len(other.nodes)} nodes {here} ({len(self.graph.nodes)}). "
                "Import it with fixed sizes."
            )
        for mine, theirs in zip(self.graph.outputs, other.outputs, strict=True):
            self._pair(mine, theirs, f"output '{mine.name}'", here)
        for one, two in zip(self.graph.states, other.states, strict=True):
            self._pair(one.update, two.update, f"the update of state '{one.tensor.name}'", here)

    def _nodes(self, own: Node, node: Node, here: str) -> None:
        what = f"node '{own.name}' ({own.op})"
        if (own.op, own.name, len(own.args)) != (node.op, node.name, len(node.args)):
            _refuse(what, f"is '{node.name}' ({node.op}) {here}")
        for place, (mine, theirs) in enumerate(zip(own.args, node.args, strict=True)):
            tensors = list(_tensors(mine)), list(_tensors(theirs))
            if len(tensors[0]) != len(tensors[1]):
                _refuse(what, f"reads {len(tensors[1])} tensors {here}")
            for a, b in zip(*tensors, strict=True):
                self._pair(a, b, what, here)
            if not tensors[0]:
                self._values(own, place, theirs, f"{what}", here)
        for a, b in zip(own.outputs, node.outputs, strict=True):
            self._pair(a, b, what, here)

    def _values(self, node: Node, place: int, other: ArgValue, what: str, here: str) -> None:
        mine, theirs = _int_values(node.args[place]), _int_values(other)
        if mine is None or theirs is None:
            if node.args[place] != other:
                _refuse(what, f"has the argument {other} instead of {node.args[place]} {here}")
            return
        if len(mine) != len(theirs):
            _refuse(what, f"has the argument {other} instead of {node.args[place]} {here}")
        self.ints.setdefault((node, place), []).append(theirs)

    def _pair(self, mine: Tensor, theirs: Tensor, what: str, here: str) -> None:
        if self._others.get(mine) is theirs:
            return
        known = mine in self._others
        if (mine.dtype, len(mine.shape), mine.data is None) != (
            theirs.dtype,
            len(theirs.shape),
            theirs.data is None,
        ) or (known and mine.data is None):
            _refuse(what, f"has {theirs} where it has {mine} {here}")
        if mine.data is not None:
            self._constants(mine, theirs, what, here)
        if known and self.shapes[mine][-1] != theirs.shape:
            _refuse(what, f"has {theirs} where it has {mine} {here}")
        if not known:
            self.shapes.setdefault(mine, []).append(theirs.shape)
        self._others[mine] = theirs

    def _constants(self, mine: Tensor, theirs: Tensor, what: str, here: str) -> None:
        """A constant is the same, or the beginning of the greatest in each dimension."""
        assert mine.data is not None and theirs.data is not None
        if all(b <= a for a, b in zip(mine.shape, theirs.shape, strict=True)):
            part = mine.data[tuple(slice(size) for size in theirs.shape)]
            if np.array_equal(part, theirs.data, equal_nan=part.dtype.kind == "f"):
                return
        _refuse(what, f"has another constant of {theirs} {here}")


def _refuse(what: str, how: str) -> None:
    raise ImportFailure(
        f"The model cannot vary in size: {what} {how}. Import it with fixed sizes, or other bounds."
    )


def _tensors(value: ArgValue) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple):
        yield from (item for item in value if isinstance(item, Tensor))


def _int_values(value: ArgValue) -> tuple[int, ...] | None:
    """The ints of an argument that may vary; None for other arguments."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return (value,)
    if isinstance(value, tuple):
        return tuple(item for item in value if isinstance(item, int))
    return None


def _both(a: Interval | None, b: Interval | None) -> Interval | None:
    """The numbers of both."""
    if a is None or b is None:
        return a or b
    return Interval(max(a.low, b.low), min(a.high, b.high), a.whole and b.whole)
