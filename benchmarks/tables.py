"""Figures as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is left-aligned, the others right."""
    rule = ["---", *("--:" for _ in titles[1:])]
    lines = (titles, rule, *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def figure(value: float) -> str:
    """Three significant digits, without an exponent: 1234, 123, 12.3, 1.23, 0.12."""
    for limit, digits in ((99.95, 0), (9.995, 1)):
        if value >= limit:
            return f"{value:.{digits}f}"
    return f"{value:.2f}"


def milliseconds(seconds: float) -> str:
    """A time in seconds, shown in milliseconds."""
    return figure(seconds * 1e3)


def percent(share: float) -> str:
    """A fraction of a peak."""
    return f"{share * 100:.0f} %" if share >= 0.0995 else f"{share * 100:.1f} %"


def mebibytes(size: float) -> str:
    """A size in bytes, shown in MiB."""
    return figure(size / (1 << 20))


def times(ratio: float) -> str:
    """A ratio."""
    return f"{figure(ratio)}×"
