"""Writes, reads and compares the tables of benchmarks/results/size.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Growth that is accepted: patch releases of the compilers change sizes by this much, others more.
TOLERANCE, OTHER_COMPILERS = 0.03, 0.1
SMALL = 256  # bytes of growth that are always accepted


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of integers by name. The last column must not grow."""

    title: str
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[int, ...]]

    def markdown(self) -> str:
        lines = [f"## {self.title}", "", _line(self.columns), _line(["---"] * len(self.columns))]
        lines += [_line([name, *(f"{n:,}" for n in row)]) for name, row in self.rows.items()]
        return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def read(page: str) -> dict[str, Table]:
    """Parses the tables of a page, by title."""
    tables = {}
    for part in re.split(r"^## ", page, flags=re.M)[1:]:
        title, *lines = part.splitlines()
        cells = [
            [c.strip() for c in line.strip("|").split("|")] for line in lines if line[:1] == "|"
        ]
        columns, _, *rows = cells
        values = {row[0]: tuple(int(c.replace(",", "")) for c in row[1:]) for row in rows}
        tables[title] = Table(title, tuple(columns), values)
    return tables


def growth(
    recorded: dict[str, Table], measured: Sequence[Table], tolerance: float = TOLERANCE
) -> list[str]:
    """A message for each row that grew beyond the tolerance. New rows do not count."""
    lines = []
    for table in measured:
        known = recorded[table.title].rows if table.title in recorded else {}
        for name, row in table.rows.items():
            old, new = known.get(name, row)[-1], row[-1]
            if new > old * (1 + tolerance) + SMALL:
                lines.append(f"{table.title}: {name}: {new:,} bytes, recorded: {old:,}")
    return lines
