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
    """A time."""
    return figure(seconds * 1e3)


def percent(share: float) -> str:
    """A share of a ceiling."""
    return f"{share * 100:.0f} %" if share >= 0.0995 else f"{share * 100:.1f} %"


def mebibytes(size: float) -> str:
    """A size in bytes."""
    return figure(size / (1 << 20))


def times(ratio: float) -> str:
    """How many times as much."""
    return f"{figure(ratio)}×"
