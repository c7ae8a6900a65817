"""Unrolled loops over the slices of a dimension: linear recurrences, and stacks of equal calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from spec_model.traits import Trait
from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes.cleanup import PERMUTE, VIEW, remove_dead_nodes
from spirloom.passes.data_movement import are_known, call
from spirloom.passes.rewrite import ADD, MUL, Matcher, replace_nodes
from spirloom.sizes import Varying

RECURRENCE = "spirloom.linear_recurrence"
SELECT, UNSQUEEZE, SLICE, CAT = "aten.select.int", "aten.unsqueeze", "aten.slice.Tensor", "aten.cat"
MATMUL, BMM, LINEAR = "aten.matmul", "aten.bmm", "aten.linear"
# Shorter loops gain little.
_MIN_STEPS = 4
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class _Slice:
    """The slice `index` of a tensor along `dim`, without this dimension."""

    source: Tensor
    dim: int
    index: int

    def follows(self, other: _Slice) -> bool:
        """Whether it is the next slice."""
        return (self.source, self.dim, self.index - 1) == (other.source, other.dim, other.index)


class _Slices:
    """The slices in a graph. Slices of states are not found: a later node may update these in
    place.
    """

    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self.matcher = Matcher(graph)
        self._library = library
        self._states = {state.tensor for state in graph.states}

    def of(self, value: object) -> _Slice | None:
        """The slice that a tensor is."""
        node = self.matcher.producer(value, SELECT)
        if node is None:
            return None
        source, dim, index = (self._library.arg(node, name) for name in ("x", "dim", "index"))
        if not isinstance(source, Tensor) or source in self._states or not are_known(source):
            return None
        if not isinstance(dim, int) or not isinstance(index, int) or isinstance(index, Varying):
            return None
        dim %= len(source.shape)
        size = source.shape[dim]
        return None if isinstance(size, Varying) else _Slice(source, dim, index % size)


class _Calls:
    """New nodes, which replace others at one position of a graph."""

    def __init__(self, library: OpLibrary, name: str) -> None:
        self.library = library
        self.nodes: list[Node] = []
        self._name = name

    def add(self, op: str, **args: ArgValue) -> Tensor:
        """The result of a new call. Raises OpError if no operator supports it."""
        return self.add_args(op, call(self.library, op, **args))

    def add_args(self, op: str, args: tuple[ArgValue, ...]) -> Tensor:
        """The same, with all arguments in order."""
        ((shape, dtype),) = self.library.infer(op, args)
        name = f"{self._name}.{len(self.nodes)}"
        self.nodes.append(Node(op, args, (Tensor(name, dtype, shape),), name))
        return self.nodes[-1].outputs[0]

    def range_of(self, first: _Slice, count: int) -> Tensor:
        """The slices from the first one on, in the tensor's layout."""
        if (first.index, count) == (0, first.source.shape[first.dim]):
            return first.source
        end = first.index + count
        return self.add(SLICE, x=first.source, dim=first.dim, start=first.index, end=end)

    def stacked(self, first: _Slice, count: int) -> Tensor:
        """The slices from the first one on, stacked in a first dimension."""
        found = self.range_of(first, count)
        dims = (first.dim, *(d for d in range(len(found.shape)) if d != first.dim))
        return found if first.dim == 0 else self.add(PERMUTE, x=found, dims=dims)

    def at_rank(self, stack: Tensor, rank: int) -> Tensor:
        """A stack whose elements have this rank, by dimensions of size 1."""
        missing = rank + 1 - len(stack.shape)
        if missing <= 0:
            return stack
        count, *shape = stack.shape
        return self.add(VIEW, x=stack, size=(count, *[1] * missing, *shape))


@dataclass(frozen=True, slots=True)
class _Recurrence:
    """Steps `h = a[t] * h + b[t]`, for consecutive slices of a and b."""

    h0: Tensor
    a: _Slice  # of the first step
    b: _Slice
    last_a: _Slice
    last_b: _Slice
    nodes: tuple[Node, ...] = field(default=())


def fuse_recurrences(graph: Graph, library: OpLibrary) -> None:
    """Consecutive steps `h = a[t] * h + b[t]` become one linear recurrence, and each state a slice
    of its result.
    """
    if not all(map(library.has, (RECURRENCE, SELECT, SLICE))):
        return
    slices = _Slices(graph, library)
    chains: dict[Tensor, _Recurrence] = {}  # by the last state
    for node in graph.nodes:
        chain = _step(node, library, slices, chains)
        if chain is not None:
            chains.pop(chain.h0 if len(chain.nodes) < 2 else chain.nodes[-2].outputs[0], None)
            chains[node.outputs[0]] = chain
    replacements: dict[Node, list[Node]] = {}
    for chain in chains.values():
        if len(chain.nodes) >= _MIN_STEPS:
            replacements |= _fused(chain, library)
    replace_nodes(graph, replacements)
    remove_dead_nodes(graph)


def _step(
    node: Node, library: OpLibrary, slices: _Slices, chains: dict[Tensor, _Recurrence]
) -> _Recurrence | None:
    """The longest recurrence that ends with a node."""
    if node.op != ADD or not library.is_plain(node):
        return None
    found = []
    for product, b in (node.args[:2], node.args[1::-1]):
        multiply, addend = slices.matcher.inner(product, MUL), slices.of(b)
        if multiply is None or addend is None:
            continue
        for h, a in (multiply.args[:2], multiply.args[1::-1]):
            factor = slices.of(a)
            if isinstance(h, Tensor) and factor is not None and _fits(h, factor, addend, node):
                found.append(_extended(chains.get(h), h, factor, addend, node))
    return max(found, key=lambda chain: len(chain.nodes)) if found else None


def _fits(h: Tensor, a: _Slice, b: _Slice, node: Node) -> bool:
    """Whether operands of a step do not broadcast."""
    total = node.outputs[0]
    return (
        are_known(h, total)
        and a.dim == b.dim
        and a.source.dtype is b.source.dtype is h.dtype is total.dtype
        and h.shape == total.shape
        and all(s.source.shape[: s.dim] + s.source.shape[s.dim + 1 :] == h.shape for s in (a, b))
    )


def _extended(
    chain: _Recurrence | None, h: Tensor, a: _Slice, b: _Slice, node: Node
) -> _Recurrence:
    if chain is not None and a.follows(chain.last_a) and b.follows(chain.last_b):
        return _Recurrence(chain.h0, chain.a, chain.b, a, b, (*chain.nodes, node))
    return _Recurrence(h, a, b, a, b, (node,))


def _fused(chain: _Recurrence, library: OpLibrary) -> dict[Node, list[Node]]:
    """The nodes that replace the steps of a recurrence. Empty if the operator does not support
    it.
    """
    first, count = chain.nodes[0], len(chain.nodes)
    calls = _Calls(library, f"{first.name}.recurrence")
    zeros = chain.h0.data is not None and not chain.h0.data.any()
    try:
        a, b = calls.range_of(chain.a, count), calls.range_of(chain.b, count)
        h0 = None if zeros else chain.h0
        states = calls.add(RECURRENCE, a=a, b=b, h0=h0, dim=chain.a.dim)
    except OpError:
        return {}
    selected = {
        node: [
            Node(SELECT, call(library, SELECT, x=states, dim=0, index=t), node.outputs, node.name)
        ]
        for t, node in enumerate(chain.nodes)
    }
    selected[first] = [*calls.nodes, *selected[first]]
    return selected


def batch_stacks(graph: Graph, library: OpLibrary) -> None:
    """A concatenation of equal calls of consecutive slices becomes one call of all slices."""
    if not all(map(library.has, (SELECT, SLICE, PERMUTE, VIEW))):
        return
    slices = _Slices(graph, library)
    replacements: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        if node.op == CAT:
            made = _Batch(library, slices, node).run()
            if made is not None:
                replacements[node] = made
    replace_nodes(graph, replacements)
    remove_dead_nodes(graph)


class _Batch:
    """The calls that compute a concatenation at once."""

    def __init__(self, library: OpLibrary, slices: _Slices, cat: Node) -> None:
        self._library = library
        self._slices = slices
        self._cat = cat
        self._calls = _Calls(library, cat.name)

    def run(self) -> list[Node] | None:
        """The nodes that replace the concatenation. None if its tensors are computed otherwise."""
        terms, dim = self._library.arg(self._cat, "tensors"), self._library.arg(self._cat, "dim")
        (result,) = self._cat.outputs
        if not isinstance(terms, tuple) or not isinstance(dim, int) or len(terms) < _MIN_STEPS:
            return None
        tensors = [term for term in terms if isinstance(term, Tensor)]
        dim %= len(result.shape)
        if not are_known(*tensors, result) or any(t.shape[dim] != 1 for t in tensors):
            return None
        try:
            stack = self._stack(tensors, _MAX_DEPTH)
            if stack is None or not self._calls.nodes:
                return None
            self._finish(stack, dim, result)
        except OpError:
            return None
        return self._calls.nodes

    def _finish(self, stack: Tensor, dim: int, result: Tensor) -> None:
        """Moves the first dimension of the stack to that of the concatenation."""
        count, *shape = stack.shape
        del shape[dim]
        stack = self._calls.add(VIEW, x=stack, size=(count, *shape))
        dims = list(range(1, len(stack.shape)))
        dims.insert(dim, 0)
        self._calls.add(PERMUTE, x=stack, dims=tuple(dims))
        last = self._calls.nodes[-1]
        assert last.outputs[0].shape == result.shape
        self._calls.nodes[-1] = Node(last.op, last.args, (result,), self._cat.name)

    def _stack(self, terms: Sequence[Tensor], depth: int) -> Tensor | None:
        """The tensors, stacked in a first dimension. None if they are not equal calls."""
        found = [self._slices.of(term) for term in terms]
        first = found[0]
        if first is not None and _are_consecutive(found):
            return self._calls.stacked(first, len(terms))
        nodes = [self._slices.matcher.inner(term) for term in terms]
        head = nodes[0]
        if head is None or depth == 0 or not _are_equal(nodes, terms) or len(head.outputs) != 1:
            return None
        varying = [
            index
            for index, values in enumerate(zip(*(n.args for n in nodes if n), strict=True))
            if any(value is not values[0] for value in values if isinstance(value, Tensor))
        ]
        args = list(head.args)
        for index in varying:
            operands = [n.args[index] for n in nodes if n is not None]
            tensors = [value for value in operands if isinstance(value, Tensor)]
            stack = self._stack(tensors, depth - 1) if len(tensors) == len(terms) else None
            if stack is None:
                return None
            args[index] = stack
        return self._batched(head, args, varying)

    def _batched(self, node: Node, args: list[ArgValue], varying: list[int]) -> Tensor | None:
        """A call for all slices, whose arguments `varying` are stacks."""
        library, op, total = self._library, node.op, node.outputs[0]
        rank = len(total.shape)
        count = next((a.shape[0] for i in varying if isinstance(a := args[i], Tensor)), 0)
        named = dict(zip(library.arg_names(op), args, strict=True))
        if op in (SELECT, UNSQUEEZE):
            dim, source = named["dim"], node.args[0]
            assert isinstance(dim, int) and isinstance(source, Tensor)
            args[1] = 1 + dim % (len(source.shape) + (op == UNSQUEEZE))
        elif op == PERMUTE:
            dims = named["dims"]
            assert isinstance(dims, tuple)
            args[1] = (0, *(1 + dim % rank for dim in dims if isinstance(dim, int)))
        elif op == VIEW:
            args[1] = (count, *total.shape)
        elif op in (MATMUL, BMM) or library.has_trait(op, Trait.ELEMENTWISE, named):
            operands = [a for a in node.args if isinstance(a, Tensor)]
            if op in (MATMUL, BMM) and any(len(a.shape) < 2 for a in operands):
                return None
            op = MATMUL if op == BMM and library.has(MATMUL) else op
            for index in varying:
                stack = args[index]
                assert isinstance(stack, Tensor)
                args[index] = self._calls.at_rank(stack, rank)
        elif op != LINEAR or varying != [0]:
            return None
        result = self._calls.add_args(op, tuple(args))
        fits = (result.shape, result.dtype) == ((count, *total.shape), total.dtype)
        return result if count and fits else None


def _are_consecutive(slices: Sequence[_Slice | None]) -> bool:
    """Whether each slice follows the one before."""
    pairs = pairwise(slices)
    return all(a is not None and b is not None and b.follows(a) for a, b in pairs)


def _are_equal(nodes: Sequence[Node | None], results: Sequence[Tensor]) -> bool:
    """Whether calls are of one operator, with equal arguments except for tensors, and with results
    of one type.
    """
    first = nodes[0]
    if first is None:
        return False
    return all(
        node is not None
        and node.op == first.op
        and (result.shape, result.dtype) == (results[0].shape, results[0].dtype)
        and all(map(_alike, node.args, first.args))
        for node, result in zip(nodes, results, strict=True)
    )


def _alike(a: ArgValue, b: ArgValue) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return (a.shape, a.dtype) == (b.shape, b.dtype)
    if isinstance(a, tuple) and any(isinstance(item, Tensor) for item in a):
        return False
    return type(a) is type(b) and a == b
