"""Composes operators that only move elements (slices, permutations, views) into strided copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes.movement import Movement
from spirloom.passes.rewrite import Matcher, fused_name, replace_nodes
from spirloom.sizes import Varying, graph_int, inferred_size, proven, symbolic_int


class Moves:
    """The movements of a graph's nodes, as formulas of the graph's symbols."""

    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._library = library
        self._symbols = {symbol.name: symbol for symbol in graph.symbols}

    def of(self, node: Node) -> Movement | None:
        """The movement of a node. None if the node does more than move elements, or if its movement
        has another form at some sizes.
        """
        if not are_known(*node.inputs(), *node.outputs):
            return None
        args = [self.symbolic(arg) for arg in node.args]
        found = proven(lambda: self._library.movement(node.op, args))
        if found is None:
            return None
        split, steps, begin = found
        return Movement(tuple(zip(split, steps, strict=True)), begin)

    def shape(self, tensor: Tensor) -> tuple[int, ...]:
        """The shape, with symbolic ints."""
        return tuple(symbolic_int(size, self._symbols) for size in tensor.shape)

    def is_free(self, node: Node, move: Movement) -> bool:
        """Whether the result of a node can be a view of the buffer that it reads."""
        return self._library.is_view(node.op) and move.is_run

    def stored(self, values: Sequence[int]) -> list[int] | None:
        """Ints as the graph has them. None if one has no form in graph files."""
        found = [graph_int(value) for value in values]
        return None if any(map(inferred_size, found)) else found

    def symbolic(self, arg: ArgValue) -> ArgValue:
        """An argument with symbolic ints."""
        if isinstance(arg, Tensor):
            return Tensor(arg.name, arg.dtype, self.shape(arg))
        if isinstance(arg, tuple):
            return tuple(symbolic_int(value, self._symbols) for value in ints(arg))
        return symbolic_int(arg, self._symbols) if isinstance(arg, Varying) else arg


def are_known(*tensors: Tensor) -> bool:
    """Whether all sizes of these tensors have a formula in the graph's symbols."""
    return not any(inferred_size(size) for tensor in tensors for size in tensor.shape)


def joined(first: Movement, then: Movement) -> Movement | None:
    """The composition of both movements. None if it is not strided at all sizes."""
    return proven(lambda: then.of(first))


def call(library: OpLibrary, op: str, **args: ArgValue) -> tuple[ArgValue, ...]:
    """All arguments of an operator call. Symbolic ints stay symbolic."""
    return library.with_args(Node(op, library.complete(op, args), ()), **args)


def ints(values: tuple[object, ...]) -> tuple[int, ...]:
    """An argument that holds ints."""
    return tuple(value for value in values if isinstance(value, int))


COPY, VIEW = "aten.as_strided", "aten.view"


def fold_copies(graph: Graph, library: OpLibrary) -> None:
    """Merges chains of slices, permutations and views into one strided copy.

    Required: nothing else reads the intermediate results, and the movement has one stride per
    dimension at all sizes. Where a stride has no form in graph files, the nodes are kept.
    """
    if library.has(COPY) and library.has(VIEW):
        _Folder(graph, library).run()


@dataclass(frozen=True, slots=True)
class _Chain:
    """Consecutive nodes, and their combined movement."""

    nodes: tuple[Node, ...]
    move: Movement


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
                # The copy runs where the source was read: a later node may update a state in place.
                replacements[chain.nodes[0]] = copy
        replace_nodes(self._graph, replacements)

    def _chain(self, last: Node) -> _Chain | None:
        """The longest chain that ends with a node, if it has more than one copy."""
        move = self._moves.of(last)
        if move is None or self._moves.is_free(last, move):
            return None
        chain, copies = _Chain((last,), move), 1
        while (inner := self._matcher.inner(chain.nodes[0].args[0])) is not None:
            first = self._moves.of(inner)
            both = None if first is None else joined(first, chain.move)
            if first is None or both is None:
                break
            chain = _Chain((inner, *chain.nodes), both)
            copies += not self._moves.is_free(inner, first)
        # A selective library with a single data-movement operator may lack the copy operator.
        kinds = {node.op for node in chain.nodes}
        return chain if copies > 1 and len(kinds) > 1 else None

    def _copied(self, chain: _Chain) -> list[Node] | None:
        """One copy that replaces the chain, and a view of it if the dimensions differ."""
        (result,) = chain.nodes[-1].outputs
        name = fused_name(chain.nodes[0], *chain.nodes[1:])
        shape = self._moves.shape(result)
        copy = self._copy(chain, proven(lambda: chain.move.shaped(shape)))
        if copy is not None:
            return [Node(COPY, copy, (result,), name)]
        if all(node.op != VIEW for node in chain.nodes):
            return None  # a selective library may lack views
        copy = self._copy(chain, proven(chain.move.merged))
        if copy is None:
            return None
        size = copy[1]
        assert isinstance(size, tuple)
        whole = Tensor(result.name, result.dtype, ints(size), storage=result.storage)
        view = call(self._library, VIEW, x=whole, size=result.shape)
        return [Node(COPY, copy, (whole,), name), Node(VIEW, view, (result,), f"{name}.view")]

    def _copy(self, chain: _Chain, target: Movement | None) -> tuple[ArgValue, ...] | None:
        """The arguments of a copy with this movement. None if the operator does not support it."""
        found = (
            None if target is None else self._moves.stored([*sum(target.dims, ()), target.begin])
        )
        if found is None:
            return None
        *dims, begin = found
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
        except OpError:  # negative strides, or too many dimensions
            return None
        return copy
