"""Makes one graph of symbolic sizes from graphs imported at several fixed sizes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from spirloom.deferred import Deferred
from spirloom.errors import ImportFailure
from spirloom.interval import Interval
from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.sizes import Symbol, Varying
from spirloom.varying.minimum import check_minimum
from spirloom.varying.size_fit import Fitter, points
from spirloom.varying.specialize import Sizes, sizes_text, specialize

# Points beyond those of `points`, which decide between formulas.
MAX_POINTS = 40


@dataclass(slots=True)
class Comparison:
    """A graph at the maximum sizes, and its differences to graphs at other sizes.

    `shapes` and `ints` hold the values at each further point: of tensors, and of int arguments by
    node and position.
    """

    graph: Graph
    sizes: Sizes
    shapes: dict[Tensor, list[tuple[int, ...]]] = field(default_factory=dict)
    ints: dict[tuple[Node, int], list[tuple[int, ...]]] = field(default_factory=dict)
    # of the graph that is being compared
    _others: dict[Tensor, Tensor] = field(default_factory=dict)

    def add(self, other: Graph, sizes: Sizes) -> None:
        """Compares the graph of a further point. Raises ImportFailure for unsupported
        differences.
        """
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

    def rows(self) -> Iterator[list[int]]:
        """The values of each varying int at all points."""
        for tensor, shapes in self.shapes.items():
            yield from map(list, zip(tensor.shape, *shapes, strict=True))
        for (node, index), others in self.ints.items():
            yield from map(list, zip(_int_values(node.args[index]) or (), *others, strict=True))

    def _nodes(self, own: Node, node: Node, here: str) -> None:
        what = f"node '{own.name}' ({own.op})"
        if (own.op, own.name, len(own.args)) != (node.op, node.name, len(node.args)):
            _refuse(what, f"is '{node.name}' ({node.op}) {here}")
        for index, (mine, theirs) in enumerate(zip(own.args, node.args, strict=True)):
            tensors = list(_tensors(mine)), list(_tensors(theirs))
            if len(tensors[0]) != len(tensors[1]):
                _refuse(what, f"reads {len(tensors[1])} tensors {here}")
            for a, b in zip(*tensors, strict=True):
                self._pair(a, b, what, here)
            if not tensors[0]:
                self._values(own, index, theirs, f"{what}", here)
        for a, b in zip(own.outputs, node.outputs, strict=True):
            self._pair(a, b, what, here)

    def _values(self, node: Node, index: int, other: ArgValue, what: str, here: str) -> None:
        mine, theirs = _int_values(node.args[index]), _int_values(other)
        if mine is None or theirs is None:
            if node.args[index] != other:
                _refuse(what, f"has the argument {other} instead of {node.args[index]} {here}")
            return
        if len(mine) != len(theirs):
            _refuse(what, f"has the argument {other} instead of {node.args[index]} {here}")
        self.ints.setdefault((node, index), []).append(theirs)

    def _pair(self, mine: Tensor, theirs: Tensor, what: str, here: str) -> None:
        if self._others.get(mine) is theirs:
            return
        known = mine in self._others
        if (mine.dtype, len(mine.shape), mine.is_constant) != (
            theirs.dtype,
            len(theirs.shape),
            theirs.is_constant,
        ) or (known and not mine.is_constant):
            _refuse(what, f"has {theirs} where it has {mine} {here}")
        if mine.is_constant:
            self._constants(mine, theirs, what, here)
        if known and self.shapes[mine][-1] != theirs.shape:
            _refuse(what, f"has {theirs} where it has {mine} {here}")
        if not known:
            self.shapes.setdefault(mine, []).append(theirs.shape)
        self._others[mine] = theirs

    def _constants(self, mine: Tensor, theirs: Tensor, what: str, here: str) -> None:
        """A constant must be equal, or a prefix of the maximum-size constant in each dimension."""
        if _identity(mine) == _identity(theirs):
            return
        assert mine.data is not None and theirs.data is not None
        if all(b <= a for a, b in zip(mine.shape, theirs.shape, strict=True)):
            part = mine.data[tuple(slice(size) for size in theirs.shape)]
            if np.array_equal(part, theirs.data, equal_nan=part.dtype.kind == "f"):
                return
        _refuse(what, f"has another constant of {theirs} {here}")


def _identity(tensor: Tensor) -> Hashable:
    values = tensor.values
    return values.key if isinstance(values, Deferred) else id(values)


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
    """The ints of an argument that may vary. None for other arguments."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return (value,)
    if isinstance(value, tuple):
        return tuple(item for item in value if isinstance(item, int))
    return None


def _both(a: Interval | None, b: Interval | None) -> Interval | None:
    """The intersection."""
    if a is None or b is None:
        return a or b
    return Interval(max(a.low, b.low), min(a.high, b.high), a.integral and b.integral)


def generalize(
    make: Callable[[Sizes], Graph],
    symbols: Sequence[Symbol],
    library: OpLibrary,
    plain: Callable[[Sizes], Graph] | None = None,
) -> Graph:
    """One graph for all sizes within the symbols' bounds. `make` returns the graph at fixed sizes,
    `plain` that before any pass, for models that can depend on sizes in any way.

    Raises ImportFailure, which names the node, for a node that cannot vary.
    """
    chosen: list[Sizes] = [*points(symbols)]
    comparison = Comparison(make(chosen[0]), chosen[0])
    for sizes in chosen[1:]:
        comparison.add(make(sizes), sizes)
    fitter = Fitter(symbols, chosen)
    while (more := fitter.open_points(comparison.rows())) and len(chosen) < MAX_POINTS:
        for sizes in more:
            comparison.add(make(sizes), sizes)
        chosen += more
        fitter = Fitter(symbols, chosen)
    graph = comparison.graph
    graph.symbols = tuple(symbols)
    _set_arguments(comparison, fitter)
    _set_shapes(comparison, fitter, library)
    for sizes in chosen:
        specialize(graph, sizes, library)
    smallest = {s.name: s.min for s in symbols}
    special = specialize(graph, smallest, library)
    if plain is not None and smallest not in chosen:
        small = {s.name: min(point[s.name] for point in chosen) for s in symbols}
        check_minimum(special, plain(smallest), plain(small), smallest, small, library)
    return graph


def _set_arguments(comparison: Comparison, fitter: Fitter) -> None:
    for (node, index), others in comparison.ints.items():
        value = node.args[index]
        ints = (value,) if isinstance(value, int) else value
        assert isinstance(ints, tuple)
        varying = _varying(ints, others, fitter)
        if None in varying:
            at_points = ", ".join(map(str, [ints, *others]))
            raise ImportFailure(
                "The model cannot vary in size: no formula of the sizes was found for an "
                f"argument of node '{node.name}' ({node.op}). Its values are {at_points}."
            )
        found = tuple(v for v in varying if v is not None)
        new: ArgValue = found[0] if isinstance(value, int) else found
        node.args = (*node.args[:index], new, *node.args[index + 1 :])


def _varying(
    ints: Sequence[object], others: Sequence[Sequence[int]], fitter: Fitter
) -> list[int | None]:
    """The ints, as Varying where they differ at other points. None where no formula fits."""
    result: list[int | None] = []
    for i, value in enumerate(ints):
        assert isinstance(value, int)
        values = [value, *(other[i] for other in others)]
        if len(set(values)) == 1:
            result.append(value)
            continue
        expr = fitter.fit(values)
        result.append(None if expr is None else Varying(value, expr))
    return result


def _set_shapes(comparison: Comparison, fitter: Fitter, library: OpLibrary) -> None:
    """A computed tensor whose shape has no formula gets its shape from the runtime's inference."""
    graph = comparison.graph
    slices: dict[Tensor, tuple[int, ...]] = {}
    given = set(graph.given())
    for tensor, others in comparison.shapes.items():
        dims = _varying(tensor.shape, others, fitter)
        expected = tensor.is_constant or tensor in given
        if expected and None in dims:
            raise ImportFailure(
                "The model cannot vary in size: no formula of the sizes was found for the shape "
                f"of '{tensor.name}'. Its values are "
                f"{', '.join(map(str, [tensor.shape, *others]))}."
            )
        shape = tuple(
            Varying(old, None) if new is None else new
            for old, new in zip(tensor.shape, dims, strict=True)
        )
        if not tensor.is_constant:
            tensor.shape = shape
        elif any(isinstance(d, Varying) for d in shape):
            slices[tensor] = shape
    _slice_constants(graph, slices, library)


def _slice_constants(
    graph: Graph, slices: Mapping[Tensor, tuple[int, ...]], library: OpLibrary
) -> None:
    """Slices constants of maximum size to the prefix that a size requires."""
    nodes: list[Node] = []
    mapping: dict[Tensor, Tensor] = {}
    for tensor, shape in slices.items():
        part = tensor
        for dim, size in enumerate(shape):
            if isinstance(size, Varying):
                nodes.append(_beginning(part, dim, size, library))
                (part,) = nodes[-1].outputs
        mapping[tensor] = part
    for node in graph.nodes:
        node.replace_inputs(mapping)
    graph.nodes[:0] = nodes


def _beginning(x: Tensor, dim: int, size: Varying, library: OpLibrary) -> Node:
    """A node that slices the first elements of a dimension."""
    op = "aten.slice.Tensor"
    args = library.complete(op, {"x": x, "dim": dim, "start": 0, "end": int(size), "step": 1})
    shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
    node = Node(op, args, (Tensor(x.name, x.dtype, shape),), f"{x.name}[:{size}]")
    node.args = library.with_args(node, end=size)
    return node
