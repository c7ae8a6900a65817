"""Movements of elements as strides, with sizes that may be symbolic, and their composition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from spec_model.symbolic import maximum, minimum
from spirloom.sizes import divided, division_of, surely_less

# A size, and the stride between its elements in the source.
Dim = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Movement:
    """Element `p` of the result is element `begin + sum(p[d] * step)` of the dense source, at all
    sizes.

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
            count = divided(size, target)
            if count is None:
                return None
            dims.append((target, step))
            if count != 1:
                rest.append((count, step * target))
        return None if rest else Movement(tuple(reversed(dims)), self.begin)

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
        found: list[int] = []
        sign = -1 if number < 0 else 1
        rest = sign * number
        for weight in self._weights:
            digit, rest = division_of(rest, weight)
            found.append(sign * digit)
        return found

    def value(self, digits: Sequence[int]) -> int:
        """The source index at these coordinates."""
        return sum(digit * step for digit, step in zip(digits, self._steps, strict=True))

    def parts(self, dim: Dim) -> list[Dim]:
        """Splits a dimension so that each part changes only one digit, where possible."""
        size, step = dim
        for k in range(len(self._sizes) - 1, 0, -1):
            own, digit = self._sizes[k], divided(abs(step), self._weights[k])
            if digit is None or digit == 0 or surely_less((size - 1) * digit, own):
                continue
            count = divided(own, digit)
            times = None if count is None or count == 1 else divided(size, count)
            if count is not None and times is not None:
                return [*self.parts((times, step * count)), (count, step)]
        return [dim]

    def holds(
        self, first: Sequence[int], sizes: Sequence[int], digits: Sequence[Sequence[int]]
    ) -> bool:
        """Whether no sum of strides, starting at the first element, carries from one digit to the
        next.
        """
        for k, own in enumerate(self._sizes):
            moves = [(size - 1) * step[k] for size, step in zip(sizes, digits, strict=True)]
            low = first[k] + sum(minimum(move, 0) for move in moves)
            high = first[k] + sum(maximum(move, 0) for move in moves)
            if not (surely_less(-1, low) and surely_less(high, own)):
                return False
        return True
