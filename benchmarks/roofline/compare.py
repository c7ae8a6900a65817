"""`python -m benchmarks.roofline.compare OLD.json NEW.json`: fails if a kernel became slower.

Both files are of one device. Calls that both have are compared, by kernel of the new file: the sum
of their times. With --threshold 1.03, a kernel is slower if it takes over 3 % longer.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.tables import figure, table, times

Results = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """The calls of a kernel, in seconds."""

    kernels: str
    calls: int
    old: float
    new: float

    @property
    def ratio(self) -> float:
        """New over old time."""
        return self.new / self.old


def changes(old: Results, new: Results, min_seconds: float = 0.0) -> list[Change]:
    """By kernel, the calls of both results that take at least that long; the slowest first."""
    found: dict[str, list[tuple[float, float]]] = {}
    for name, after in new["times"].items():
        before = old["times"].get(name, {}).get("seconds")
        if before is None or "seconds" not in after:
            continue
        if max(before, after["seconds"]) >= min_seconds:
            found.setdefault(after["kernels"], []).append((before, after["seconds"]))
    made = [
        Change(name, len(pairs), sum(a for a, _ in pairs), sum(b for _, b in pairs))
        for name, pairs in found.items()
    ]
    return sorted(made, key=lambda change: -change.ratio)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.roofline.compare",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--threshold", type=float, default=1.03, metavar="RATIO",
                        help="of new to old time (default 1.03)")  # fmt: skip
    parser.add_argument("--min-microseconds", type=float, default=20, metavar="TIME",
                        help="ignore shorter calls (default 20)")  # fmt: skip
    given = parser.parse_args(arguments)
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (given.old, given.new))
    devices = [each["peaks"]["device"] for each in (old, new)]
    if devices[0] != devices[1]:
        parser.error(f"the results are of two devices: '{devices[0]}' and '{devices[1]}'")
    found = changes(old, new, given.min_microseconds * 1e-6)
    slower = [change for change in found if change.ratio > given.threshold]
    rows = (
        (each.kernels, str(each.calls), figure(each.old * 1e6), figure(each.new * 1e6),
         times(each.ratio))
        for each in slower
    )  # fmt: skip
    print(f"{len(found)} kernels compared, {len(slower)} slower than {given.threshold}")
    if slower:
        print(table(("kernels", "calls", "old µs", "new µs", "new ÷ old"), rows), end="")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
