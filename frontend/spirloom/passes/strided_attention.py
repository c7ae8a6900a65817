"""Has attention read and write rows where the layers around it have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.ops import OpError, OpLibrary
from spirloom.passes.attention import ATTENTION
from spirloom.passes.attention_steps import Chain, Placement, dense, place
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.movement import Movement
from spirloom.passes.moves import Moved, Moves, are_known, call, ints_at, joined
from spirloom.passes.rewrite import Matcher, fused_name
from spirloom.passes.views import VIEW

STRIDED = "spirloom.strided_attention"
_SIZES = ("batches", "heads", "kv_heads", "queries", "keys", "depth", "width")


def stride_attention(graph: Graph, library: OpLibrary) -> None:
    """Slices, permutations and views between projections and attention, and between that and the
    next layer, fall away where nothing else reads what they give: attention takes steps instead.

    A graph whose sizes vary is to be given as a whole: steps are products of sizes.
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
        # What replaces a state's elements may come before attention.
        self._states = {state.tensor for state in graph.states}

    def run(self) -> None:
        replacements: dict[Node, list[Node]] = {}
        for node in self._graph.nodes:
            found = self._placement(node) if node.op == ATTENTION else None
            made = None if found is None else self._made(node, found)
            if found is not None and made is not None:
                replacements |= {each: [] for each in found.behind.nodes}
                replacements[node] = made
        nodes = self._graph.nodes
        self._graph.nodes = [new for node in nodes for new in replacements.get(node, [node])]
        remove_dead_nodes(self._graph)

    def _placement(self, node: Node) -> Placement | None:
        """By which the most copies fall away; None if none does."""
        operands = [self._library.arg(node, name) for name in ("query", "key", "value")]
        tensors = [t for t in operands if isinstance(t, Tensor)]
        if not are_known(*tensors, *node.outputs):
            return None
        before, behind = self._before(node, tensors), self._behind(node.outputs[0])
        found = [
            placement
            for heads in self._heads(tensors[0], [*(chains[-1] for chains in before), behind[-1]])
            if (placement := place(self._moves.points, before, behind, heads)) is not None
        ]
        best = max(found, key=lambda each: len(self._copies(each.chains())), default=None)
        return best if best is not None and self._copies(best.chains()) else None

    def _heads(self, query: Tensor, chains: Iterable[Chain]) -> list[int]:
        """How many heads there may be: of three dims, where the first has batches too, as many as
        some dim of the chains has elements."""
        if len(query.shape) == 4:
            return [int(query.shape[1])]
        sizes = (size for each in chains for size, _ in each.moves[0].merged().dims)
        return sorted({int(query.shape[0]), *sizes}, reverse=True)

    def _copies(self, chains: Iterable[Chain]) -> list[Node]:
        """The nodes that fall away, but for those that are no copies anyhow."""
        nodes = dict.fromkeys(chain.from_iterable(each.nodes for each in chains))
        found = ((node, self._moves.of(node)) for node in nodes)
        return [n for n, moves in found if moves and not self._moves.is_free(n, moves)]

    def _before(self, node: Node, operands: Sequence[Tensor]) -> list[list[Chain]]:
        """For each operand the chains that give it, from none to the longest of which nothing but
        attention reads what it makes."""
        found = [list(self._backwards(operand)) for operand in operands]
        own = {node, *chain.from_iterable(each[-1].nodes for each in found)}
        while foreign := {n for n in own - {node} if not self._is_read_by(n, own)}:
            own -= foreign
        return [[each for each in chains if own.issuperset(each.nodes)] for chains in found]

    def _is_read_by(self, node: Node, readers: set[Node]) -> bool:
        """Whether nothing but these needs what a node gives."""
        return all(
            t not in self._results and readers.issuperset(self._uses.get(t, ()))
            for t in node.outputs
        )

    def _backwards(self, tensor: Tensor) -> Iterator[Chain]:
        found = Chain(tensor, tensor, (), self._still(tensor))
        while True:
            yield found
            node = self._matcher.producer(found.source)
            moves = None if node is None else self._moves.of(node)
            both = None if moves is None else joined(moves, found.moves)
            source = None if node is None else node.args[0]
            if node is None or both is None or not isinstance(source, Tensor):
                return
            if source in self._states:
                return
            found = Chain(source, tensor, (node, *found.nodes), both)

    def _behind(self, tensor: Tensor) -> list[Chain]:
        """The chains that take what attention gives, from none to the longest."""
        found = [Chain(tensor, tensor, (), self._still(tensor))]
        while (node := self._matcher.reader(found[-1].result)) is not None:
            moves = self._moves.of(node)
            both = None if moves is None else joined(found[-1].moves, moves)
            if both is None:
                break
            found.append(Chain(tensor, node.outputs[0], (*found[-1].nodes, node), both))
        return found

    def _still(self, tensor: Tensor) -> Moved:
        """What does nothing to a tensor."""
        shapes = (ints_at(tensor.shape, sizes) for sizes in self._moves.points)
        return tuple(Movement(tuple(dense(shape)), 0) for shape in shapes)

    def _made(self, node: Node, found: Placement) -> list[Node] | None:
        """The call, and views of the mask and of the result that it needs; None if there is none
        for all sizes."""
        numbers = self._moves.numbers(found.numbers[:-1])
        if numbers is None or not found.holds(ints_at(numbers, self._moves.points[-1])):
            return None
        sizes = dict(zip(_SIZES, numbers, strict=False))
        query, key, value = (each.source for each in found.before)
        query_steps, key_steps, value_steps = (tuple(numbers[i : i + 4]) for i in (7, 11, 15))
        mask, nodes = self._mask(node, sizes["batches"], sizes["heads"])
        rows = [sizes[name] for name in ("batches", "heads", "queries")]
        result = found.behind.result
        shape = (*(rows[d] for d in found.order), sizes["width"])
        made = Tensor(result.name, result.dtype, shape, storage=result.storage)
        if made.shape == result.shape:
            made = result
        try:
            args = call(
                self._library, STRIDED, query=query, key=key, value=value, attn_mask=mask, **sizes,
                query_steps=query_steps, key_steps=key_steps, value_steps=value_steps,
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
        """The mask by batches and heads, and the view that this needs."""
        mask = self._library.arg(node, "attn_mask")
        whole = len(node.outputs[0].shape) == 4
        if whole or not isinstance(mask, Tensor) or len(mask.shape) < 3 or mask.shape[0] == 1:
            return mask, []
        shaped = Tensor(mask.name, mask.dtype, (batches, heads, *mask.shape[1:]))
        view = call(self._library, VIEW, x=mask, size=shaped.shape)
        return shaped, [Node(VIEW, view, (shaped,), f"{node.name}.mask")]
