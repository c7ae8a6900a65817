"""Joins operators that only move elements, such as slices and permutations, into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.ops import OpError, OpLibrary
from spirloom.passes.movement import Movement
from spirloom.passes.moves import Moved, Moves, call, ints, ints_at, joined
from spirloom.passes.rewrite import Matcher, fused_name

COPY, VIEW = "aten.as_strided", "aten.view"


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
    moves: Moved


class _Folder:
    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._graph = graph
        self._library = library
        self._matcher = Matcher(graph)
        self._moves = Moves(graph, library)

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
        moves = self._moves.of(last)
        if moves is None or self._moves.is_free(last, moves):
            return None
        chain, copies = _Chain((last,), moves), 1
        while (inner := self._matcher.inner(chain.nodes[0].args[0])) is not None:
            first = self._moves.of(inner)
            both = None if first is None else joined(first, chain.moves)
            if first is None or both is None:
                break
            chain = _Chain((inner, *chain.nodes), both)
            copies += not self._moves.is_free(inner, first)
        # A library with one op alone need not have that of copies.
        kinds = {node.op for node in chain.nodes}
        return chain if copies > 1 and len(kinds) > 1 else None

    def _copied(self, chain: _Chain) -> list[Node] | None:
        """One copy in the place of a chain, and a view of it if it has other dimensions."""
        (result,) = chain.nodes[-1].outputs
        name = fused_name(chain.nodes[0], *chain.nodes[1:])
        shapes = [ints_at(result.shape, sizes) for sizes in self._moves.points]
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
        whole = Tensor(result.name, result.dtype, ints(size), storage=result.storage)
        view = call(self._library, VIEW, x=whole, size=result.shape)
        return [Node(COPY, copy, (whole,), name), Node(VIEW, view, (result,), f"{name}.view")]

    def _copy(
        self, chain: _Chain, wanted: Sequence[Movement | None]
    ) -> tuple[ArgValue, ...] | None:
        """The arguments of the copy that moves as wanted; None if there is none."""
        *moves, _ = wanted
        rows = [[*sum(m.dims, ()), m.begin] for m in moves if m is not None]
        found = self._moves.numbers(rows) if len(rows) == len(moves) else None
        if found is None:
            return None
        *dims, begin = found
        least = ints_at(found, self._moves.points[-1])
        small = Movement(tuple(zip(least[:-1:2], least[1:-1:2], strict=True)), least[-1])
        if small.merged() != chain.moves[-1].merged():
            return None
        source = chain.nodes[0].args[0]
        copy = call(
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
