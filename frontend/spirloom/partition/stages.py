"""When units run: stages that alternate between the sides, with as little as can be to copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spirloom.partition.placing import HOST, Value
from spirloom.partition.plan import Side
from spirloom.partition.units import Units

_SWEEPS = 4


def stages_of(
    units: Units, sides: Sequence[Side], values: Sequence[Value], sizes: Mapping[str, int]
) -> list[int]:
    """The stage of each unit; one stage has units of one side, and the next those of the other.

    There are as few as the order allows.
    """
    attempts = [_earliest(units, sides, first) for first in (Side.DEVICE, Side.HOST)]
    stages = min(attempts, key=lambda stages: max(stages, default=0))
    _Sweeper(units, sides, values, sizes, stages).run()
    return _without_gaps(stages, sides)


def _earliest(units: Units, sides: Sequence[Side], first: Side) -> list[int]:
    stages: list[int] = []
    for at, before in enumerate(units.before):
        own = 0 if sides[at] is first else 1
        stages.append(max([own, *(stages[b] + (sides[b] is not sides[at]) for b in before)]))
    return stages


def _without_gaps(stages: Sequence[int], sides: Sequence[Side]) -> list[int]:
    """Numbered anew: neighbours of one side, between which no unit is left, become one."""
    side = dict(zip(stages, sides, strict=True))
    number: dict[int, int] = {}
    for before, stage in zip([None, *sorted(side)], sorted(side), strict=False):
        last = -1 if before is None else number[before]
        number[stage] = last + (before is None or side[before] is not side[stage])
    return [number[stage] for stage in stages]


class _Sweeper:
    """Moves units between stages of their side while that leaves less to copy."""

    def __init__(
        self,
        units: Units,
        sides: Sequence[Side],
        values: Sequence[Value],
        sizes: Mapping[str, int],
        stages: list[int],
    ) -> None:
        self._units = units
        self._sides = sides
        self._sizes = sizes
        self._stages = stages
        self._last = max(stages, default=0)
        self._after: list[list[int]] = [[] for _ in units.nodes]
        for at, before in enumerate(units.before):
            for b in before:
                self._after[b].append(at)
        self._touching: list[list[Value]] = [[] for _ in units.nodes]
        for value in values:
            for at in {value.writer, *value.readers} - {HOST}:
                self._touching[at].append(value)

    def run(self) -> None:
        order = range(len(self._stages))
        for _ in range(_SWEEPS):
            before = list(self._stages)
            for at in reversed(order):
                self._move(at, later=True)
            for at in order:
                self._move(at, later=False)
            if self._stages == before:
                break

    def _move(self, at: int, later: bool) -> None:
        """To the best stage; of equal ones the last going later, else its own."""
        stages, side = self._stages, self._sides[at]
        low = max((stages[b] + (self._sides[b] is not side) for b in self._units.before[at]),
                  default=stages[at] % 2)  # fmt: skip
        high = min((stages[a] - (self._sides[a] is not side) for a in self._after[at]),
                   default=self._last - (self._last - stages[at]) % 2)  # fmt: skip
        own = stages[at]
        costs = {stage: self._cost(at, stage) for stage in range(low, high + 1, 2)}
        least = min(costs.values())
        best = [stage for stage, cost in costs.items() if cost == least]
        stages[at] = own
        if later or own not in best:
            stages[at] = best[-1] if later else best[0]

    def _cost(self, at: int, stage: int) -> int:
        """Bytes that are copied of the values that the unit writes or reads."""
        self._stages[at] = stage
        return sum(self._copied(value) for value in self._touching[at])

    def _copied(self, value: Value) -> int:
        """Down once if anybody else reads it, and up for each segment of the device that does."""
        at = [HOST if r == HOST else self._stages[r] for r in value.readers]
        written = HOST if value.writer == HOST else self._stages[value.writer]
        on_device = value.writer != HOST and self._sides[value.writer] is Side.DEVICE
        others = {stage for stage in at if stage != written}
        up = {
            stage
            for stage, reader in zip(at, value.readers, strict=True)
            if stage in others and reader != HOST and self._sides[reader] is Side.DEVICE
        }
        times = len(up) + (1 if on_device and others else 0)
        return times * max(self._sizes.get(value.name, 0), 1)
