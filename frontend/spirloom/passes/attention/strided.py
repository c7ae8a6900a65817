"""Lets attention read and write the strided layouts of the layers around it, without copies."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from math import prod

from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes.attention.decomposed import ATTENTION
from spirloom.passes.cleanup import VIEW, remove_dead_nodes
from spirloom.passes.data_movement import Moves, are_known, call, joined
from spirloom.passes.movement import Dim, Movement
from spirloom.passes.rewrite import Matcher, fused_name, replace_nodes
from spirloom.sizes import divided, proven, upper

# Orders of batches, heads and rows in the result. Where several are equivalent, the first is used.
_ORDERS = [(0, 2, 1), *(order for order in permutations(range(3)) if order != (0, 2, 1))]
Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """Consecutive nodes, and the element movement from `source` to `result` that they compute
    together.
    """

    source: Tensor
    result: Tensor
    nodes: tuple[Node, ...]
    move: Movement


def dense(shape: Sequence[int]) -> list[Dim]:
    """The dimensions and strides of a dense row-major array."""
    return [(size, prod(shape[d + 1 :])) for d, size in enumerate(shape)]


@dataclass(frozen=True, slots=True)
class Shapes:
    """Sizes of an attention call. `heads` counts query heads; keys and values may have fewer."""

    batches: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    depth: int
    width: int

    @classmethod
    def of(cls, shapes: Sequence[Sequence[int]], heads: int) -> Shapes | None:
        """The sizes for query, key and value of these shapes. A rank-3 tensor merges batches and
        heads in its first dimension. None if the shapes do not fit.
        """
        query, key, value = shapes
        if len(query) == 4:
            batches, heads, kv_heads = *query[:2], key[1]
        else:
            found, shared = divided(query[0], heads), divided(query[0], key[0])
            shared_heads = divided(heads, shared) if shared else None
            if found is None or shared_heads is None:
                return None
            batches, kv_heads = found, shared_heads
        sizes = (query[-2], key[-2], query[-1], value[-1])
        return cls(batches, heads, kv_heads, *sizes)

    def sizes_and_strides(self) -> list[int]:
        """The sizes, in the operator's order."""
        return [self.batches, self.heads, self.kv_heads, self.queries, self.keys, self.depth,
                self.width]  # fmt: skip

    def rows(self) -> list[tuple[int, ...]]:
        """The sizes [batches, heads, rows, columns] of query, key and value."""
        kv = (self.batches, self.kv_heads, self.keys)
        query = (self.batches, self.heads, self.queries, self.depth)
        return [query, (*kv, self.depth), (*kv, self.width)]

    def steps(self, operand: int, move: Movement) -> list[int] | None:
        """[offset, batch stride, head stride, row stride] of query, key or value. None if the
        layout is not strided, or would turn vector loads into scalar loads.
        """
        shaped = move.shaped(self.rows()[operand])
        if shaped is None or shaped.dims[3] not in ((self.rows()[operand][3], 1), (1, 0)):
            return None
        steps = [shaped.begin, *(step for _, step in shaped.dims[:3])]
        wide = next(n for n in (8, 4, 1) if self.depth % n == 0 and self.width % n == 0)
        return None if any(step < 0 or step % wide for step in steps) else steps

    def ordered(self, order: Order) -> Movement:
        """The movement that puts batches, heads and rows of the result into an order."""
        dims = dense((self.batches, self.heads, self.queries, self.width))
        return Movement(tuple(dims[d] for d in (*order, 3)), 0)


@dataclass(frozen=True, slots=True)
class Placement:
    """Chains that strides replace, and the sizes and strides of attention."""

    before: tuple[Chain, ...]
    after: Chain
    order: Order
    sizes_and_strides: tuple[int, ...]

    def chains(self) -> tuple[Chain, ...]:
        return (*self.before, self.after)


def placement_of(
    operands: Sequence[Sequence[int]],
    before: Sequence[Sequence[Chain]],
    after: Sequence[Chain],
    heads: int,
) -> Placement | None:
    """The longest chains before query, key and value and after the result that strides can replace.
    `operands` are the shapes of query, key and value.

    Chains must be sorted by length. None if the tensors do not have this number of heads.
    """
    shapes = Shapes.of(operands, heads)
    if shapes is None:
        return None
    row = shapes.sizes_and_strides()
    chosen: list[Chain] = []
    for operand, chains in enumerate(before):
        for chain in reversed(chains):
            steps = proven(partial(shapes.steps, operand, chain.move))
            if steps is not None:
                chosen.append(chain)
                row += steps
                break
    if len(chosen) < len(before):
        return None
    last, order = next(_orders(shapes, after), (None, ()))
    return None if last is None else Placement(tuple(chosen), last, order, tuple(row))


def _orders(shapes: Shapes, chains: Sequence[Chain]) -> Iterator[tuple[Chain, Order]]:
    """Chains that permute batches, heads and rows of the result, the longest first."""
    for chain in reversed(chains):
        for order in _ORDERS:
            if shapes.ordered(order).merged() == chain.move.merged():
                yield chain, order


STRIDED = "spirloom.strided_attention"
SIZES = ("batches", "heads", "kv_heads", "queries", "keys", "depth", "width")


def stride_attention(graph: Graph, library: OpLibrary) -> None:
    """Removes slices, permutations and views between the projections, attention and the next layer,
    if nothing else reads their results. Attention receives strides instead.

    With symbolic sizes, the strides are formulas.
    """
    if library.has(ATTENTION) and library.has(STRIDED) and library.has(VIEW):
        _Strider(graph, library).run()


class _Strider:
    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._graph = graph
        self._library = library
        self._moves = Moves(graph, library)
        self._matcher = Matcher(graph)
        self._uses = graph.uses()
        self._results = set(graph.results())
        # A node that updates a state in place may run before attention.
        self._states = {state.tensor for state in graph.states}

    def run(self) -> None:
        replacements: dict[Node, list[Node]] = {}
        for node in self._graph.nodes:
            found = self._placement(node) if node.op == ATTENTION else None
            made = None if found is None else self._made(node, found)
            if found is not None and made is not None:
                replacements |= {each: [] for each in found.after.nodes}
                replacements[node] = made
        replace_nodes(self._graph, replacements)
        remove_dead_nodes(self._graph)

    def _placement(self, node: Node) -> Placement | None:
        """The placement that removes the most copies. None if there is no such placement."""
        operands = [self._library.arg(node, name) for name in ("query", "key", "value")]
        tensors = [t for t in operands if isinstance(t, Tensor)]
        if not are_known(*tensors, *node.outputs):
            return None
        before, after = self._before(node, tensors), self._after(node.outputs[0])
        found = [
            placement
            for heads in self._heads(tensors[0], [*(chains[-1] for chains in before), after[-1]])
            if (placement := self._placed(tensors, before, after, heads)) is not None
        ]
        best = max(found, key=lambda each: len(self._copies(each.chains())), default=None)
        return best if best is not None and self._copies(best.chains()) else None

    def _placed(
        self,
        operands: Sequence[Tensor],
        before: Sequence[Sequence[Chain]],
        after: Sequence[Chain],
        heads: int,
    ) -> Placement | None:
        shapes = [self._moves.shape(tensor) for tensor in operands]
        return proven(lambda: placement_of(shapes, before, after, heads))

    def _heads(self, query: Tensor, chains: Iterable[Chain]) -> list[int]:
        """Possible numbers of heads. If a rank-3 tensor merges batches and heads, every dimension
        of the chains is a candidate.
        """
        if len(query.shape) == 4:
            return [self._moves.shape(query)[1]]
        sizes = (size for each in chains for size, _ in each.move.merged().dims)
        return sorted({self._moves.shape(query)[0], *sizes}, key=upper, reverse=True)

    def _copies(self, chains: Iterable[Chain]) -> list[Node]:
        """The nodes that are removed, except those that are views without a copy."""
        nodes = dict.fromkeys(itertools.chain.from_iterable(each.nodes for each in chains))
        found = ((node, self._moves.of(node)) for node in nodes)
        return [n for n, move in found if move and not self._moves.is_free(n, move)]

    def _before(self, node: Node, operands: Sequence[Tensor]) -> list[list[Chain]]:
        """For each operand, the chains that produce it, sorted by length. Only attention reads
        their intermediate results.
        """
        found = [list(self._backwards(operand)) for operand in operands]
        own = {node, *itertools.chain.from_iterable(each[-1].nodes for each in found)}
        while foreign := {n for n in own - {node} if not self._is_read_by(n, own)}:
            own -= foreign
        return [[each for each in chains if own.issuperset(each.nodes)] for chains in found]

    def _is_read_by(self, node: Node, readers: set[Node]) -> bool:
        """Whether only these readers use the outputs of a node."""
        return all(
            t not in self._results and readers.issuperset(self._uses.get(t, ()))
            for t in node.outputs
        )

    def _backwards(self, tensor: Tensor) -> Iterator[Chain]:
        found = Chain(tensor, tensor, (), self._still(tensor))
        while True:
            yield found
            node = self._matcher.producer(found.source)
            move = None if node is None else self._moves.of(node)
            both = None if move is None else joined(move, found.move)
            source = None if node is None else node.args[0]
            if node is None or both is None or not isinstance(source, Tensor):
                return
            if source in self._states:
                return
            found = Chain(source, tensor, (node, *found.nodes), both)

    def _after(self, tensor: Tensor) -> list[Chain]:
        """The chains that read the result of attention, sorted by length."""
        found = [Chain(tensor, tensor, (), self._still(tensor))]
        while (node := self._matcher.reader(found[-1].result)) is not None:
            move = self._moves.of(node)
            both = None if move is None else joined(found[-1].move, move)
            if both is None:
                break
            found.append(Chain(tensor, node.outputs[0], (*found[-1].nodes, node), both))
        return found

    def _still(self, tensor: Tensor) -> Movement:
        """The identity movement of a tensor."""
        return Movement(tuple(dense(self._moves.shape(tensor))), 0)

    def _made(self, node: Node, found: Placement) -> list[Node] | None:
        """The strided call, with views of the mask and the result where required. None if a
        stride has no form in graph files.
        """
        sizes_and_strides = self._moves.stored(found.sizes_and_strides)
        if sizes_and_strides is None:
            return None
        sizes = dict(zip(SIZES, sizes_and_strides, strict=False))
        query, key, value = (each.source for each in found.before)
        query_strides, key_strides, value_strides = (
            tuple(sizes_and_strides[i : i + 4]) for i in (7, 11, 15)
        )
        mask, nodes = self._mask(node, sizes["batches"], sizes["heads"])
        rows = [sizes[name] for name in ("batches", "heads", "queries")]
        result = found.after.result
        shape = (*(rows[d] for d in found.order), sizes["width"])
        made = Tensor(result.name, result.dtype, shape, storage=result.storage)
        if self._moves.shape(made) == self._moves.shape(result):
            made = result
        try:
            args = call(
                self._library, STRIDED, query=query, key=key, value=value, attn_mask=mask, **sizes,
                query_strides=query_strides, key_strides=key_strides, value_strides=value_strides,
                order=found.order, is_causal=self._library.arg(node, "is_causal"),
                scale=self._library.arg(node, "scale"),
            )  # fmt: skip
            self._library.infer(STRIDED, args)
        except OpError:
            return None
        name = fused_name(node, *self._copies(found.chains()))
        nodes.append(Node(STRIDED, args, (made,), name))
        if made is not result:
            view = call(self._library, VIEW, x=made, size=result.shape)
            nodes.append(Node(VIEW, view, (result,), f"{name}.view"))
        return nodes

    def _mask(self, node: Node, batches: int, heads: int) -> tuple[ArgValue, list[Node]]:
        """The mask with batch and head dimensions, and the view that this requires."""
        mask = self._library.arg(node, "attn_mask")
        has_batches = len(node.outputs[0].shape) == 4
        if has_batches or not isinstance(mask, Tensor) or len(mask.shape) < 3 or mask.shape[0] == 1:
            return mask, []
        shaped = Tensor(mask.name, mask.dtype, (batches, heads, *mask.shape[1:]))
        view = call(self._library, VIEW, x=mask, size=shaped.shape)
        return shaped, [Node(VIEW, view, (shaped,), f"{node.name}.mask")]
