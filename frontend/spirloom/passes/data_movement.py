"""Composes operators that only move elements (slices, permutations, views) into strided copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.ops import OpError, OpLibrary
from spirloom.passes.rewrite import Matcher, fused_name
from spirloom.sizes import Varying, at, inferred_size
from spirloom.varying.size_fit import Fitter, dense_points

# A size, and the stride between its elements in the source.
Dim = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Movement:
    """Element `p` of the result is element `begin + sum(p[d] * step)` of the dense source.

    `p` are coordinates in `dims`, whose sizes multiply to the number of elements of the result.
    """

    dims: tuple[Dim, ...]
    begin: int

    @property
    def is_run(self) -> bool:
        """Whether the result is a contiguous part of the source."""
        return all(step == 1 for _, step in self.merged().dims) and len(self.merged().dims) < 2

    def merged(self) -> Movement:
        """The same movement with as few dimensions as possible, none of size 1."""
        dims: list[Dim] = []
        for size, step in self.dims:
            if size == 1:
                continue
            if dims and dims[-1][1] == size * step:
                dims[-1] = (dims[-1][0] * size, step)
            else:
                dims.append((size, step))
        return Movement(tuple(dims), self.begin)

    def shaped(self, shape: Sequence[int]) -> Movement | None:
        """The same movement with the sizes of a shape. None if a dimension would need several
        strides.
        """
        dims: list[Dim] = []
        rest = list(self.merged().dims)
        for target in reversed(shape):
            if target == 1:
                dims.append((1, 0))
                continue
            size, step = rest.pop() if rest else (1, 0)
            if size % target != 0:
                return None
            dims.append((target, step))
            if size != target:
                rest.append((size // target, step * target))
        return Movement(tuple(reversed(dims)), self.begin)

    def of(self, inner: Movement) -> Movement | None:
        """The composition: this movement applied to the result of `inner`. None if it is not
        strided.
        """
        if prod(size for size, _ in (*self.dims, *inner.dims)) == 0:
            return None
        radix = _Radix(inner.merged().dims)
        dims = [part for dim in self.merged().dims for part in radix.parts(dim)]
        digits = [radix.digits(step) for _, step in dims]
        first = radix.digits(self.begin)
        if not radix.holds(first, [size for size, _ in dims], digits):
            return None
        steps = map(radix.value, digits)
        joined = tuple((size, step) for (size, _), step in zip(dims, steps, strict=True))
        return Movement(joined, inner.begin + radix.value(first))


class _Radix:
    """Element indices as mixed-radix coordinates, with one digit per dimension of a movement."""

    def __init__(self, dims: Sequence[Dim]) -> None:
        # The first digit of an empty radix is 0: a source of one element.
        self._sizes = [size for size, _ in dims] or [1]
        self._steps = [step for _, step in dims] or [0]
        self._weights = [prod(self._sizes[k + 1 :]) for k in range(len(self._sizes))]

    def digits(self, number: int) -> list[int]:
        """The coordinates of an element, or the distance of a stride in each coordinate."""
        found, rest = [], abs(number)
        for weight in self._weights:
            found.append(rest // weight if number > 0 else -(rest // weight))
            rest %= weight
        return found

    def value(self, digits: Sequence[int]) -> int:
        """The source index at these coordinates."""
        return sum(digit * step for digit, step in zip(digits, self._steps, strict=True))

    def parts(self, dim: Dim) -> list[Dim]:
        """Splits a dimension so that each part changes only one digit, where possible."""
        size, step = dim
        for k in range(len(self._sizes) - 1, 0, -1):
            digit, rest = divmod(abs(step), self._weights[k])
            if rest or not 0 < digit < self._sizes[k] or (size - 1) * digit < self._sizes[k]:
                continue
            count, over = divmod(self._sizes[k], digit)
            if over == 0 and size % count == 0:
                return [*self.parts((size // count, step * count)), (count, step)]
        return [dim]

    def holds(
        self, first: Sequence[int], sizes: Sequence[int], digits: Sequence[Sequence[int]]
    ) -> bool:
        """Whether no sum of strides, starting at the first element, carries from one digit to the
        next.
        """
        for k, own in enumerate(self._sizes):
            moves = [(size - 1) * step[k] for size, step in zip(sizes, digits, strict=True)]
            low = first[k] + sum(move for move in moves if move < 0)
            high = first[k] + sum(move for move in moves if move > 0)
            if low < 0 or high >= own:
                return False
        return True


Sizes = Mapping[str, int]
# One movement for each sample point.
Moved = tuple[Movement, ...]


class Moves:
    """The movements of a graph's nodes at the sample `points`. The last point has the minimum
    sizes.
    """

    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._library = library
        chosen = dense_points(graph.symbols)
        self._fitter = Fitter(graph.symbols, chosen)
        # Formulas are not fitted to the last point, where models may have a different structure.
        self.points: list[Sizes] = [*chosen, {s.name: s.min for s in graph.symbols}]

    def of(self, node: Node) -> Moved | None:
        """The movement of a node at each point. None if the node does more than move elements."""
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
        """Whether the result of a node can be a view of the buffer that it reads."""
        return self._library.is_view(node.op) and all(each.is_run for each in moves)

    def fitted_ints(self, rows: Sequence[Sequence[int]]) -> list[int] | None:
        """Ints that take the values of `rows` at each point except the last. None if rows differ in
        length or a value has no formula.
        """
        if len({len(row) for row in rows}) > 1:
            return None
        found = [self._fitted(column) for column in zip(*rows, strict=True)]
        fitted_ints = [number for number in found if number is not None]
        return fitted_ints if len(fitted_ints) == len(found) else None

    def _fitted(self, values: Sequence[int]) -> int | None:
        if len(set(values)) == 1:
            return values[0]
        found = self._fitter.fit(values)
        return None if found is None else Varying(values[0], found)


def are_known(*tensors: Tensor) -> bool:
    """Whether all sizes of these tensors have a formula in the graph's symbols."""
    return not any(inferred_size(size) for tensor in tensors for size in tensor.shape)


def joined(first: Moved, then: Moved) -> Moved | None:
    """The composition of both movements at each point. None if it is not strided."""
    both = [b.of(a) for a, b in zip(first, then, strict=True)]
    found = tuple(each for each in both if each is not None)
    return found if len(found) == len(both) else None


def call(library: OpLibrary, op: str, **args: ArgValue) -> tuple[ArgValue, ...]:
    """All arguments of an operator call. Symbolic ints stay symbolic."""
    return library.with_args(Node(op, library.complete(op, args), ()), **args)


def _at(arg: ArgValue, sizes: Sizes) -> ArgValue:
    """An argument at these sizes. Tensors are reduced to their types."""
    if isinstance(arg, Tensor):
        return Tensor(arg.name, arg.dtype, ints_at(arg.shape, sizes))
    if isinstance(arg, tuple):
        return ints_at(ints(arg), sizes)
    return at(arg, sizes) if isinstance(arg, int) else arg


def ints_at(values: Sequence[int], sizes: Sizes) -> tuple[int, ...]:
    """Ints of a graph, evaluated at these sizes."""
    return tuple(at(value, sizes) for value in values)


def ints(values: tuple[object, ...]) -> tuple[int, ...]:
    """An argument that holds ints."""
    return tuple(value for value in values if isinstance(value, int))


COPY, VIEW = "aten.as_strided", "aten.view"


def fold_copies(graph: Graph, library: OpLibrary) -> None:
    """Merges chains of slices, permutations and views into one strided copy.

    Required: nothing else reads the intermediate results, and the movement has one stride per
    dimension. A graph with symbolic sizes must be complete, since strides are products of sizes.
    Where a stride has no formula, the nodes are kept.
    """
    if library.has(COPY) and library.has(VIEW):
        _Folder(graph, library).run()


@dataclass(frozen=True, slots=True)
class _Chain:
    """Consecutive nodes, and their combined movement at each point."""

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
                # The copy runs where the source was read: a later node may update a state in place.
                replacements[chain.nodes[0]] = copy
        nodes = self._graph.nodes
        self._graph.nodes = [new for node in nodes for new in replacements.get(node, [node])]

    def _chain(self, last: Node) -> _Chain | None:
        """The longest chain that ends with a node, if it has more than one copy."""
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
        # A selective library with a single data-movement operator may lack the copy operator.
        kinds = {node.op for node in chain.nodes}
        return chain if copies > 1 and len(kinds) > 1 else None

    def _copied(self, chain: _Chain) -> list[Node] | None:
        """One copy that replaces the chain, and a view of it if the dimensions differ."""
        (result,) = chain.nodes[-1].outputs
        name = fused_name(chain.nodes[0], *chain.nodes[1:])
        shapes = [ints_at(result.shape, sizes) for sizes in self._moves.points]
        shaped = [each.shaped(shape) for each, shape in zip(chain.moves, shapes, strict=True)]
        copy = self._copy(chain, shaped)
        if copy is not None:
            return [Node(COPY, copy, (result,), name)]
        if all(node.op != VIEW for node in chain.nodes):
            return None  # a selective library may lack views
        copy = self._copy(chain, [each.merged() for each in chain.moves])
        if copy is None:
            return None
        size = copy[1]
        assert isinstance(size, tuple)
        whole = Tensor(result.name, result.dtype, ints(size), storage=result.storage)
        view = call(self._library, VIEW, x=whole, size=result.shape)
        return [Node(COPY, copy, (whole,), name), Node(VIEW, view, (result,), f"{name}.view")]

    def _copy(
        self, chain: _Chain, target: Sequence[Movement | None]
    ) -> tuple[ArgValue, ...] | None:
        """The arguments of a copy with this movement. None if the operator does not support it."""
        *moves, _ = target
        rows = [[*sum(m.dims, ()), m.begin] for m in moves if m is not None]
        found = self._moves.fitted_ints(rows) if len(rows) == len(moves) else None
        if found is None:
            return None
        *dims, begin = found
        minimum = ints_at(found, self._moves.points[-1])
        small = Movement(tuple(zip(minimum[:-1:2], minimum[1:-1:2], strict=True)), minimum[-1])
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
        except OpError:  # negative strides, or too many dimensions
            return None
        return copy
