"""A report as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spirloom.partition.plan import Side
from spirloom.partition.report import Placed, Report
from spirloom.text import in_bytes, shown


def to_text(report: Report, where: str) -> str:
    """Segments, counts by operator, each node that stays with its reason, and a summary."""
    lines = [*_segments(report), "", *_operators(report), ""]
    if report.staying:
        lines += ["stay in the host", *(f"  {_stay(node)}" for node in report.staying), ""]
    return "\n".join([*lines, summary(report, where)])


def summary(report: Report, where: str) -> str:
    """How much goes to the device, in a sentence."""
    sides = [node.side for node in report.nodes]
    known, placed = sides.count(None), len(sides) - sides.count(None)
    went = sides.count(Side.DEVICE)
    what = f"all {placed} nodes go" if went == placed else f"{went} of {placed} nodes go"
    parts = sum(part.side is Side.DEVICE for part in report.parts)
    count = "" if parts == 1 or not went else f", in {parts} parts"
    computed = f"; {known} more are computed at import" if known else ""
    return f"{shown(where)}: {what} to the device{count}{computed}."


def _segments(report: Report) -> Iterator[str]:
    rows = [("segment", "where", "nodes", "in", "out", "operators")]
    for place, part in enumerate(report.parts):
        operators = ", ".join(
            op if count == 1 else f"{op} {count}" for op, count in part.operators.items()
        )
        sizes = in_bytes(part.bytes_in), in_bytes(part.bytes_out)
        rows.append((str(place), part.side.value, str(part.nodes), *sizes, operators))
    return _aligned(rows, right=(2, 3, 4))


def _operators(report: Report) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("operator", "device", "host", "at import")]
    for op, count in report.operators.items():
        rows.append((op, *(str(n or "") for n in (count.device, count.host, count.known))))
    return _aligned(rows, right=(1, 2, 3))


def _stay(node: Placed) -> str:
    module = f", in {node.module}" if node.module else ""
    return shown(f"{node.op}, {node.name}{module}: {node.reason}")


def _aligned(rows: Sequence[tuple[str, ...]], right: Sequence[int]) -> Iterator[str]:
    cells = [[shown(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(padded).rstrip()
