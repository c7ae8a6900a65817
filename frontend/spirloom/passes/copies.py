"""Joins operators that only move elements, such as slices and permutations, into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.ops import OpError, OpLibrary
from spirloom.passes.movement import Movement
from spirloom.passes.rewrite import Matcher, fused_name
from spirloom.sizes import Varying, at, inferred_size
from spirloom.varying.fit import Fitter
from spirloom.varying.points import points

COPY, VIEW = "aten.as_strided", "aten.view"

Sizes = Mapping[str, int]


def fold_copies(graph: Graph, library: OpLibrary) -> None:
    """Slices, permutations and views of one another become one copy of what the first reads.

    That is so where nothing else reads what lies between, and one step for each dimension tells
    where elements are. A graph whose sizes vary is to be given as a whole: steps are products of
    sizes, and where no formula for them is found, its nodes stay.
    """
    if library.has(COPY) and library.has(VIEW):
        _Folder(graph, library).run()


@dataclass(frozen=True, slots=True)
class _Chain:
    """Nodes each of which reads the one before, and what they do together, by size."""

    nodes: tuple[Node, ...]
    moves: tuple[Movement, ...]


class _Folder:
    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._graph = graph
        self._library = library
        self._matcher = Matcher(graph)
        chosen = points(graph.symbols)
        self._fitter = Fitter(graph.symbols, chosen)
        # The last, where models may look different, is no help in finding formulas.
        self._points = [*chosen, {symbol.name: symbol.least for symbol in graph.symbols}]

    def run(self) -> None:
        replacements: dict[Node, list[Node]] = {}
        for node in reversed(self._graph.nodes):
            chain = None if node in replacements else self._chain(node)
            copy = None if chain is None else self._copied(chain)
            if chain is not None and copy is not None:
                replacements |= {each: [] for each in chain.nodes}
                # Where the source was read: something may replace a state's elements later.
                replacements[chain.nodes[0]] = copy
        nodes = self._graph.nodes
        self._graph.nodes = [new for node in nodes for new in replacements.get(node, [node])]

    def _chain(self, last: Node) -> _Chain | None:
        """The longest chain that ends with a node, if it is more than one copy."""
        moves = self._moves(last)
        if moves is None or self._is_free(last, moves):
            return None
        chain, copies = _Chain((last,), moves), 1
        while (inner := self._matcher.inner(chain.nodes[0].args[0])) is not None:
            first = self._moves(inner)
            joined = None if first is None else _joined(first, chain.moves)
            if first is None or joined is None:
                break
            chain = _Chain((inner, *chain.nodes), joined)
            copies += not self._is_free(inner, first)
        # A library with one op alone need not have that of copies.
        kinds = {node.op for node in chain.nodes}
        return chain if copies > 1 and len(kinds) > 1 else None

    def _moves(self, node: Node) -> tuple[Movement, ...] | None:
        """What a node does at each of the points; None if it does not only move elements."""
        tensors = [*node.inputs(), *node.outputs]
        if any(inferred_size(size) for tensor in tensors for size in tensor.shape):
            return None
        moves: list[Movement] = []
        for sizes in self._points:
            found = self._library.movement(node.op, [_at(arg, sizes) for arg in node.args])
            if found is None:
                return None
            split, steps, begin = found
            moves.append(Movement(tuple(zip(split, steps, strict=True)), begin))
        return tuple(moves)

    def _is_free(self, node: Node, moves: Sequence[Movement]) -> bool:
        """Whether the node's result can be a part of the buffer that it reads."""
        return self._library.is_view(node.op) and all(each.is_run for each in moves)

    def _copied(self, chain: _Chain) -> list[Node] | None:
        """One copy in the place of a chain, and a view of it if it has other dimensions."""
        (result,) = chain.nodes[-1].outputs
        name = fused_name(chain.nodes[0], *chain.nodes[1:])
        shapes = [_ints_at(result.shape, sizes) for sizes in self._points]
        shaped = [each.shaped(shape) for each, shape in zip(chain.moves, shapes, strict=True)]
        copy = self._copy(chain, shaped)
        if copy is not None:
            return [Node(COPY, copy, (result,), name)]
        if all(node.op != VIEW for node in chain.nodes):
            return None  # a library that was selected for them need not have views
        copy = self._copy(chain, [each.merged() for each in chain.moves])
        if copy is None:
            return None
        size = copy[1]
        assert isinstance(size, tuple)
        whole = Tensor(result.name, result.dtype, _ints(size), storage=result.storage)
        view = _with(self._library, VIEW, x=whole, size=result.shape)
        return [Node(COPY, copy, (whole,), name), Node(VIEW, view, (result,), f"{name}.view")]

    def _copy(
        self, chain: _Chain, wanted: Sequence[Movement | None]
    ) -> tuple[ArgValue, ...] | None:
        """The arguments of the copy that moves as wanted; None if there is none."""
        *moves, _ = wanted
        rows = [[*sum(m.dims, ()), m.begin] for m in moves if m is not None]
        if len(rows) < len(moves) or len({len(row) for row in rows}) > 1:
            return None
        numbers = [self._number(column) for column in zip(*rows, strict=True)]
        found = [number for number in numbers if number is not None]
        if len(found) < len(numbers):
            return None
        *dims, begin = found
        least = _ints_at(found, self._points[-1])
        small = Movement(tuple(zip(least[:-1:2], least[1:-1:2], strict=True)), least[-1])
        if small.merged() != chain.moves[-1].merged():
            return None
        source = chain.nodes[0].args[0]
        copy = _with(
            self._library,
            COPY,
            x=source,
            size=tuple(dims[::2]),
            stride=tuple(dims[1::2]),
            storage_offset=begin,
        )
        try:
            self._library.infer(COPY, copy)
        except OpError:  # elements in the reverse order, or too many dimensions
            return None
        return copy

    def _number(self, values: Sequence[int]) -> int | None:
        """The int that has these values at the points; None if no formula is found."""
        if len(set(values)) == 1:
            return values[0]
        found = self._fitter.fit(values)
        return None if found is None else Varying(values[0], found)


def _joined(first: Sequence[Movement], then: Sequence[Movement]) -> tuple[Movement, ...] | None:
    """What both do at each of the points; None where that is none."""
    joined = [b.of(a) for a, b in zip(first, then, strict=True)]
    found = tuple(each for each in joined if each is not None)
    return found if len(found) == len(joined) else None


def _with(library: OpLibrary, op: str, **args: ArgValue) -> tuple[ArgValue, ...]:
    """All arguments of an operator's call; ints that vary stay such."""
    return library.with_args(Node(op, library.complete(op, args), ()), **args)


def _at(arg: ArgValue, sizes: Sizes) -> ArgValue:
    """An argument for these sizes; of tensors the types alone."""
    if isinstance(arg, Tensor):
        return Tensor(arg.name, arg.dtype, _ints_at(arg.shape, sizes))
    if isinstance(arg, tuple):
        return _ints_at(_ints(arg), sizes)
    return at(arg, sizes) if isinstance(arg, int) else arg


def _ints_at(values: Sequence[int], sizes: Sizes) -> tuple[int, ...]:
    return tuple(at(value, sizes) for value in values)


def _ints(values: tuple[object, ...]) -> tuple[int, ...]:
    return tuple(value for value in values if isinstance(value, int))
