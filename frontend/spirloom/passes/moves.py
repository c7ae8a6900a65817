"""What nodes of a graph do that only move elements, at some of the graph's sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.movement import Movement
from spirloom.sizes import Varying, at, inferred_size
from spirloom.varying.fit import Fitter
from spirloom.varying.points import points

Sizes = Mapping[str, int]
# One for each of the points.
Moved = tuple[Movement, ...]


class Moves:
    """Movements of a graph's nodes, at `points`; the last is of the least sizes."""

    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._library = library
        chosen = points(graph.symbols)
        self._fitter = Fitter(graph.symbols, chosen)
        # The last, where models may look different, is no help in finding formulas.
        self.points: list[Sizes] = [*chosen, {s.name: s.least for s in graph.symbols}]

    def of(self, node: Node) -> Moved | None:
        """What a node does at each of the points; None if it does not only move elements."""
        if not are_known(*node.inputs(), *node.outputs):
            return None
        moves: list[Movement] = []
        for sizes in self.points:
            found = self._library.movement(node.op, [_at(arg, sizes) for arg in node.args])
            if found is None:
                return None
            split, steps, begin = found
            moves.append(Movement(tuple(zip(split, steps, strict=True)), begin))
        return tuple(moves)

    def is_free(self, node: Node, moves: Sequence[Movement]) -> bool:
        """Whether the node's result can be a part of the buffer that it reads."""
        return self._library.is_view(node.op) and all(each.is_run for each in moves)

    def numbers(self, rows: Sequence[Sequence[int]]) -> list[int] | None:
        """The ints that have the values of a row at each point but the last; None where there are
        not as many of them in each row, or no formula is found."""
        if len({len(row) for row in rows}) > 1:
            return None
        found = [self._number(column) for column in zip(*rows, strict=True)]
        numbers = [number for number in found if number is not None]
        return numbers if len(numbers) == len(found) else None

    def _number(self, values: Sequence[int]) -> int | None:
        if len(set(values)) == 1:
            return values[0]
        found = self._fitter.fit(values)
        return None if found is None else Varying(values[0], found)


def are_known(*tensors: Tensor) -> bool:
    """Whether it is known how each of their sizes follows from the graph's."""
    return not any(inferred_size(size) for tensor in tensors for size in tensor.shape)


def joined(first: Moved, then: Moved) -> Moved | None:
    """What both do at each of the points; None where that is none."""
    both = [b.of(a) for a, b in zip(first, then, strict=True)]
    found = tuple(each for each in both if each is not None)
    return found if len(found) == len(both) else None


def call(library: OpLibrary, op: str, **args: ArgValue) -> tuple[ArgValue, ...]:
    """All arguments of an operator's call; ints that vary stay such."""
    return library.with_args(Node(op, library.complete(op, args), ()), **args)


def _at(arg: ArgValue, sizes: Sizes) -> ArgValue:
    """An argument for these sizes; of tensors the types alone."""
    if isinstance(arg, Tensor):
        return Tensor(arg.name, arg.dtype, ints_at(arg.shape, sizes))
    if isinstance(arg, tuple):
        return ints_at(ints(arg), sizes)
    return at(arg, sizes) if isinstance(arg, int) else arg


def ints_at(values: Sequence[int], sizes: Sizes) -> tuple[int, ...]:
    """Ints of a graph for these sizes."""
    return tuple(at(value, sizes) for value in values)


def ints(values: tuple[object, ...]) -> tuple[int, ...]:
    """An argument of ints as such."""
    return tuple(value for value in values if isinstance(value, int))
