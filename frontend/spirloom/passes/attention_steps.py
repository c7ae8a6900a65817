"""Where attention finds its rows, if they lie as chains of movements before and behind it tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

from spirloom.ir import Node, Tensor
from spirloom.passes.movement import Dim, Movement
from spirloom.passes.moves import Moved, Sizes, ints_at

# Of batches, heads and rows in the result; of those that are the same, the first.
_ORDERS = [(0, 2, 1), *(order for order in permutations(range(3)) if order != (0, 2, 1))]
Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """Nodes one after the other, and what they do together to `source`, giving `result`."""

    source: Tensor
    result: Tensor
    nodes: tuple[Node, ...]
    moves: Moved


def dense(shape: Sequence[int]) -> list[Dim]:
    """The dims of an array as it lies in memory."""
    return [(size, prod(shape[d + 1 :])) for d, size in enumerate(shape)]


@dataclass(frozen=True, slots=True)
class Shapes:
    """Sizes of a call: `heads` are those of query, of which keys and values may have fewer."""

    batches: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    depth: int
    width: int

    @classmethod
    def of(cls, shapes: Sequence[Sequence[int]], heads: int) -> Shapes | None:
        """Those of query, key and value of these shapes; of three dims the first is of batches of
        so many heads. None if it is not."""
        query, key, value = shapes
        if len(query) == 4:
            batches, heads, kv_heads = *query[:2], key[1]
        else:
            if heads < 1 or query[0] % heads or not 0 < key[0] <= query[0]:
                return None
            batches, shared = query[0] // heads, query[0] // key[0]
            if heads % shared:
                return None
            kv_heads = heads // shared
        sizes = (query[-2], key[-2], query[-1], value[-1])
        return cls(batches, heads, kv_heads, *sizes)

    def numbers(self) -> list[int]:
        """In the operator's order."""
        return [self.batches, self.heads, self.kv_heads, self.queries, self.keys, self.depth,
                self.width]  # fmt: skip

    def rows(self) -> list[tuple[int, ...]]:
        """How many rows query, key and value have in each dim, and of how many elements."""
        kv = (self.batches, self.kv_heads, self.keys)
        query = (self.batches, self.heads, self.queries, self.depth)
        return [query, (*kv, self.depth), (*kv, self.width)]

    def steps(self, operand: int, move: Movement) -> list[int] | None:
        """[first, of a batch, of a head, of a row] of query, key or value; None if there are none,
        or if loads of several elements would become loads of one."""
        shaped = move.shaped(self.rows()[operand])
        if shaped is None or shaped.dims[3] not in ((self.rows()[operand][3], 1), (1, 0)):
            return None
        steps = [shaped.begin, *(step for _, step in shaped.dims[:3])]
        wide = next(n for n in (8, 4, 1) if self.depth % n == 0 and self.width % n == 0)
        return None if any(step < 0 or step % wide for step in steps) else steps

    def ordered(self, order: Order) -> Movement:
        """What puts the result's batches, heads and rows in an order."""
        dims = dense((self.batches, self.heads, self.queries, self.width))
        return Movement(tuple(dims[d] for d in (*order, 3)), 0)


@dataclass(frozen=True, slots=True)
class Placement:
    """Chains that are replaced by steps. A row of numbers for each point: sizes, then steps."""

    before: tuple[Chain, ...]
    behind: Chain
    order: Order
    numbers: tuple[tuple[int, ...], ...]

    def chains(self) -> tuple[Chain, ...]:
        return (*self.before, self.behind)

    def holds(self, numbers: Sequence[int]) -> bool:
        """Whether these say the same as the chains at the last of the points."""
        if tuple(numbers[:7]) != self.numbers[-1][:7]:
            return False
        for i, (chain, shape) in enumerate(
            zip(self.before, Shapes(*numbers[:7]).rows(), strict=True)
        ):
            first, *steps = numbers[7 + 4 * i : 11 + 4 * i]
            move = Movement(tuple(zip(shape, [*steps, 1], strict=True)), first)
            if move.merged() != chain.moves[-1].merged():
                return False
        return True


def place(
    points: Sequence[Sizes], before: Sequence[Sequence[Chain]], behind: Sequence[Chain], heads: int
) -> Placement | None:
    """The longest of the chains that steps can replace: before query, key and value, and behind.

    They are in the order of their lengths. None where there are not so many heads.
    """
    found = [Shapes.of([ints_at(chains[0].result.shape, sizes) for chains in before], heads)
             for sizes in points]  # fmt: skip
    shapes = [each for each in found if each is not None]
    if len(shapes) < len(found):
        return None
    rows = [each.numbers() for each in shapes]
    chosen: list[Chain] = []
    for operand, chains in enumerate(before):
        for chain in reversed(chains):
            steps = [s.steps(operand, m) for s, m in zip(shapes, chain.moves, strict=True)]
            known = [each for each in steps if each is not None]
            if len(known) == len(steps):
                chosen.append(chain)
                rows = [[*row, *each] for row, each in zip(rows, known, strict=True)]
                break
    if len(chosen) < len(before):
        return None
    last, order = next(_orders(shapes, behind), (None, ()))
    if last is None:
        return None
    return Placement(tuple(chosen), last, order, tuple(map(tuple, rows)))


def _orders(shapes: Sequence[Shapes], chains: Sequence[Chain]) -> Iterator[tuple[Chain, Order]]:
    """Chains that put the result's dims in an order, the longest first."""
    for chain in reversed(chains):
        for order in _ORDERS:
            wanted = [each.ordered(order).merged() for each in shapes]
            if wanted == [move.merged() for move in chain.moves]:
                yield chain, order
