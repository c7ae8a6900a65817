"""Bar charts as SVG; deterministic output.

A chart is as wide as the screen of a phone needs for legible text: the label of a row is above its
bars. Pages of the site contain the SVG itself and color its text (tools/docs/diagrams.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

COLORS = ("#4269d0", "#d9820f", "#3a9a6b")
GRAY = "#7b7b7b"  # text color: legible on light and on dark backgrounds
_WIDTH, _BARS = 440, 320
_LABEL, _THICK, _GAP = 20, 14, 8
_SIZE, _CHARACTER = 14, 7.6  # of the text, and the mean width of its characters


@dataclass(frozen=True, slots=True)
class Bars:
    """The bars of one label: values by the index of their series."""

    label: str
    values: Mapping[int, float]


def chart(
    title: str, series: Sequence[str], rows: Sequence[Bars], unit: str, equal: float | None = None
) -> str:
    """Horizontal bars from 0 to the maximum value, each labeled with its value.

    `equal`: the value at which both compared programs are equally fast. A line marks it, and bars
    below it are pale and labeled as slower.
    """
    values = [value for row in rows for value in row.values.values()]
    maximum = max((*values, equal or 0.0)) or 1.0
    used = sorted({i for row in rows for i in row.values})
    y = 0
    parts = []
    for line in wrap(title, 48):
        y += _LABEL
        parts.append(_text(0, y - 4, line, weight="bold"))
    parts += _legend(y, [(i, series[i]) for i in used])
    y += _LABEL
    if equal is not None:
        y += _LABEL
        note = f"Line: {equal:g} {unit}, equal. Pale bars: Spirloom is slower."
        parts.append(_text(0, y - 4, note))
    for row in rows:
        y += _GAP
        parts.append(_text(0, y + 15, _shortened(row.label)))
        y += _LABEL
        for i, value in row.values.items():
            parts += _bar(y, value, maximum, COLORS[i], unit, equal)
            y += _THICK
        if equal is not None:
            parts.append(_line(_BARS * equal / maximum, y - _THICK * len(row.values) - 2, y))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" width="{_WIDTH}" '
        f'font-family="sans-serif" font-size="{_SIZE}">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _shortened(label: str) -> str:
    """Labels longer than the chart lose characters in the middle."""
    return label if len(label) <= 62 else f"{label[:40]}…{label[-21:]}"


def _legend(y: float, series: Sequence[tuple[int, str]]) -> Iterator[str]:
    x = 0.0
    for i, name in series:
        yield f'<rect x="{x:.1f}" y="{y + 5}" width="11" height="11" fill="{COLORS[i]}"/>'
        yield _text(x + 16, y + 15, name)
        x += 16 + _CHARACTER * len(name) + 14


def _bar(
    y: float, value: float, maximum: float, color: str, unit: str, equal: float | None
) -> list[str]:
    width = _BARS * value / maximum
    look, text, end = f'fill="{color}"', f"{value:.3g} {unit}", width
    if equal is not None:
        text = f"{value:.2f} {unit}"
        if value < equal:
            look += f' fill-opacity="0.4" stroke="{color}"'
            text += " slower"
            end = _BARS * equal / maximum  # the text is after the line
    return [
        f'<rect x="0" y="{y}" width="{width:.1f}" height="{_THICK - 3}" {look}/>',
        _text(end + 6, y + 11, text),
    ]


def _line(x: float, top: float, bottom: float) -> str:
    return (
        f'<line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}" stroke="{GRAY}" '
        f'stroke-width="2"/>'
    )


def _text(x: float, y: float, text: str, weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-weight="{weight}" fill="{GRAY}">{escape(text)}</text>'
    )
