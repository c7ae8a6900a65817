"""Compares two profiles: which nodes became slower or faster, and whether any exceeds a limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spirloom.profile_file import Dispatch, ProfileFile, percentile
from spirloom.profiling.tables import milliseconds, text_table

# The names of the statistics of --by, with the value over the runs.
STATISTICS: dict[str, Callable[[Sequence[int]], int]] = {
    "min": lambda times: min(times, default=0),
    "median": lambda times: percentile(times, 50),
    "p90": lambda times: percentile(times, 90),
}


@dataclass(frozen=True, slots=True)
class Change:
    """A node's time in both profiles, in nanoseconds; None: it is not in that profile.

    `before` and `after` sum the dispatches of the node. Variants are those of its dispatches.
    """

    node: str
    op: str
    variants: tuple[str, str]
    before: int | None
    after: int | None

    @property
    def delta(self) -> int:
        return (self.after or 0) - (self.before or 0)

    @property
    def percent(self) -> float | None:
        """The increase in percent; None if the node is not in both."""
        if self.before is None or self.after is None or not self.before:
            return None
        return 100 * self.delta / self.before


def changes(before: ProfileFile, after: ProfileFile, by: str) -> list[Change]:
    """The nodes of both profiles, largest change of time first."""
    statistic = STATISTICS[by]
    sides = (_nodes(before), _nodes(after))
    found = []
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        times = [
            sum(statistic(each.times) for each in side[key]) if key in side else None
            for side in sides
        ]
        variants = tuple(
            ", ".join(dict.fromkeys(each.variant for each in side.get(key, ()))) for side in sides
        )
        found.append(Change(key[0], key[1], (variants[0], variants[1]), times[0], times[1]))
    return sorted(found, key=lambda change: -abs(change.delta))


def _nodes(profile: ProfileFile) -> dict[tuple[str, str], list[Dispatch]]:
    found: dict[tuple[str, str], list[Dispatch]] = defaultdict(list)
    for dispatch in profile.dispatches:
        found[dispatch.node, dispatch.op].append(dispatch)
    return found


def total(before: ProfileFile, after: ProfileFile, by: str) -> Change:
    """The GPU time of complete runs."""
    statistic = STATISTICS[by]
    return Change("total", "", ("", ""), statistic(before.gpu_ns), statistic(after.gpu_ns))


def regressions(
    found: Sequence[Change], complete: Change, percent: float, least_ns: int
) -> list[Change]:
    """The total and the nodes that became slower by more than `percent`, and by more than
    `least_ns`, which excludes noise of short dispatches. New nodes do not count: the total does.
    """
    return [
        change
        for change in (complete, *found)
        if change.percent is not None and change.percent > percent and change.delta > least_ns
    ]


def to_text(found: Sequence[Change], complete: Change, limit: int) -> str:
    """A table of the largest changes, and the total."""
    changed = [change for change in found if change.delta]
    rows = [_row(change) for change in (changed[:limit] if limit else changed)]
    lines = text_table(
        ["node", "op", "variant", "before", "after", "change", "%"],
        [*rows, _row(complete)],
        left=3,
    )
    if limit and len(changed) > limit:
        lines.append(f"and {len(changed) - limit} more nodes; --all lists them")
    return "\n".join(lines)


def _row(change: Change) -> list[str]:
    old, new = change.variants
    variant = new if old == new or not old else (f"{old} → {new}" if new else old)
    percent = "" if change.percent is None else f"{change.percent:+.1f}"
    times = ["" if each is None else milliseconds(each) for each in (change.before, change.after)]
    return [change.node, change.op, variant, *times, f"{change.delta / 1e6:+.3f}", percent]


def as_json(
    found: Sequence[Change], complete: Change, failed: Sequence[Change]
) -> dict[str, object]:
    """The changes as JSON values. Times in ms; null: the node is not in that profile."""
    return {
        "total": _values(complete),
        "nodes": [_values(change) for change in found],
        "regressions": [change.node for change in failed],
    }


def _values(change: Change) -> dict[str, object]:
    before, after = (None if each is None else each / 1e6 for each in (change.before, change.after))
    return {
        "node": change.node,
        "op": change.op,
        "variants": list(change.variants),
        "before_ms": before,
        "after_ms": after,
        "percent": change.percent,
    }
