"""What operators do that only move elements: where those of the result lie in the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

# A size, and how far apart in the source its elements are.
Dim = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Movement:
    """Element `p` of the result is element `begin + sum(p[d] * step)` of the dense source.

    `p` are coordinates in the dims' sizes, which multiply to the number of elements of the result.
    """

    dims: tuple[Dim, ...]
    begin: int

    @property
    def is_run(self) -> bool:
        """Whether the result is a part of the source as it lies there."""
        return all(step == 1 for _, step in self.merged().dims) and len(self.merged().dims) < 2

    def merged(self) -> Movement:
        """The same with as few dims as there can be, none of size 1."""
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
        """The same with the sizes of a shape; None if a dim would need more than one step."""
        dims: list[Dim] = []
        rest = list(self.merged().dims)
        for wanted in reversed(shape):
            if wanted == 1:
                dims.append((1, 0))
                continue
            size, step = rest.pop() if rest else (1, 0)
            if size % wanted != 0:
                return None
            dims.append((wanted, step))
            if size != wanted:
                rest.append((size // wanted, step * wanted))
        return Movement(tuple(reversed(dims)), self.begin)

    def of(self, inner: Movement) -> Movement | None:
        """This one of the result of another, as one of that one's source; None if it is none."""
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
    """Numbers of elements as coordinates, one digit for each of a movement's dims."""

    def __init__(self, dims: Sequence[Dim]) -> None:
        # The first digit of none is 0: of a source of one element.
        self._sizes = [size for size, _ in dims] or [1]
        self._steps = [step for _, step in dims] or [0]
        self._weights = [prod(self._sizes[k + 1 :]) for k in range(len(self._sizes))]

    def digits(self, number: int) -> list[int]:
        """The coordinates of an element, or how far a step goes in each."""
        found, rest = [], abs(number)
        for weight in self._weights:
            found.append(rest // weight if number > 0 else -(rest // weight))
            rest %= weight
        return found

    def value(self, digits: Sequence[int]) -> int:
        """Where the dims lead with these coordinates."""
        return sum(digit * step for digit, step in zip(digits, self._steps, strict=True))

    def parts(self, dim: Dim) -> list[Dim]:
        """The dim as several, each of which keeps to one digit, as far as it has such."""
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
        """Whether no sum of steps, from a first element on, carries from one digit to another."""
        for k, own in enumerate(self._sizes):
            moves = [(size - 1) * step[k] for size, step in zip(sizes, digits, strict=True)]
            low = first[k] + sum(move for move in moves if move < 0)
            high = first[k] + sum(move for move in moves if move > 0)
            if low < 0 or high >= own:
                return False
        return True
