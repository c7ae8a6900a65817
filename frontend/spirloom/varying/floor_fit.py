"""Divisions fitted to samples: value = (factor · size + offset) / divisor, rounded down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

from spirloom.sizes import SizeExpr, Symbol

MAX_DIVISOR = 1024  # above the hop sizes of audio models
MAX_FACTOR = 16
_CONSECUTIVE = 4  # sizes
_MAX_PAIRS = 64  # alternatives of a wanted pair of sizes


@dataclass(frozen=True, slots=True)
class FloorFit:
    """The simplest division that fits.

    expr        None while samples do not determine it
    open_sizes  sets of tuples of sizes: the samples of one tuple of each set are missing
    """

    name: str
    expr: SizeExpr | None
    open_sizes: tuple[tuple[tuple[int, ...], ...], ...]


def floor_fit(symbol: Symbol, known: Mapping[int, int]) -> FloorFit | None:
    """The division of the smallest factor with the values `known` by size, if there is one.

    It is determined if no other offset fits, and if the samples contain a step of the value, from
    one size to the next, in each part of the symbol's range, and consecutive sizes at both ends. A
    wrong slope would move one of the steps; a periodic value differs between consecutive sizes.
    """
    for factor, divisor, only in _slopes(known):
        offsets = _offsets(factor, divisor, known)
        step = _Division(range(min(known), symbol.max + 1), factor, divisor)
        split = step.splitting(offsets)
        if split is not None:
            return FloorFit(symbol.name, None, (((split,),),))
        offset = min(offsets, key=abs)
        parts = 2 if only and abs(factor) == 1 else 8
        wanted = () if len(known) == len(step.sizes) else step.unseen_steps(offset, known, parts)
        wanted += _unseen_ends(step.sizes, known)
        constant = ((offset, ()),) if offset else ()
        expr = SizeExpr(((factor, (symbol.name,)), *constant), divisor)
        return FloorFit(symbol.name, None if wanted else expr, wanted)
    return None


def _unseen_ends(sizes: range, known: Mapping[int, int]) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """The consecutive sizes at both ends of the range, if one of them is not known."""
    ends = (tuple(sizes[:_CONSECUTIVE]), tuple(sizes[-_CONSECUTIVE:]))
    return tuple((end,) for end in ends if not all(size in known for size in end))


def _slopes(known: Mapping[int, int]) -> Iterator[tuple[int, int, bool]]:
    """Factors and divisors that fit, and whether the divisor is the only one of its factor. Small
    factors first, and the middle of the possible divisors, so that further samples halve them.
    """
    first, last = min(known), max(known)
    length, change = last - first, known[last] - known[first]
    for size in range(1, MAX_FACTOR + 1) if length else ():
        factor = size if change >= 0 else -size
        smallest = max(size * length // (abs(change) + 1), 2)
        largest = size * length // (abs(change) - 1) + 1 if abs(change) > 1 else MAX_DIVISOR
        divisors = range(smallest, min(largest, MAX_DIVISOR) + 1)
        fitting = [d for d in divisors if gcd(factor, d) == 1 and _offsets(factor, d, known)]
        if fitting:
            yield factor, fitting[len(fitting) // 2], len(fitting) == 1


def _offsets(factor: int, divisor: int, known: Mapping[int, int]) -> range:
    """The offsets that fit."""
    low = max(divisor * value - factor * size for size, value in known.items())
    high = min(divisor * (value + 1) - 1 - factor * size for size, value in known.items())
    return range(low, high + 1)


@dataclass(frozen=True, slots=True)
class _Division:
    sizes: range
    factor: int
    divisor: int

    def _congruent(self, offset: int) -> range:
        """The sizes in the range for which factor · size + offset is a multiple of the divisor."""
        residue = -offset * pow(self.factor, -1, self.divisor) % self.divisor
        first = self.sizes.start + (residue - self.sizes.start) % self.divisor
        return range(first, self.sizes.stop, self.divisor)

    def splitting(self, offsets: range) -> int | None:
        """A size at which the values of these offsets differ, near their middle. None if they are
        equal everywhere.
        """
        middle = offsets[len(offsets) // 2]
        for offset in sorted(offsets[1:], key=lambda o: abs(o - middle)):
            sizes = self._congruent(offset)
            if sizes:
                return sizes[0]
        return None

    def unseen_steps(
        self, offset: int, known: Mapping[int, int], count: int
    ) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """The pairs of sizes at which the value changes, for each of `count` parts of the range
        without a known pair.
        """
        before = -1 if self.factor > 0 else 1
        steps = sorted(
            size
            for rest in range(min(abs(self.factor), self.divisor))
            for size in self._congruent(offset - rest)
        )
        pairs = [(size + before, size) for size in steps if size + before in self.sizes]
        ends = [len(pairs) * i // count for i in range(count + 1)]
        parts = [pairs[a:b] for a, b in pairwise(ends)]
        parts[-1].reverse()
        return tuple(
            tuple(part[:_MAX_PAIRS])
            for part in parts
            if part and not any(a in known and b in known for a, b in part)
        )
