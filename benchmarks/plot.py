"""Bar charts as SVG: small, and the same bytes for the same figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#4269d0", "#efb118", "#ff725c")
GREY = "#808080"  # of the text: legible on white and on black
_LABELS, _BARS, _FIGURES = 250, 400, 70
_THICK, _GAP, _TOP = 12, 4, 44


@dataclass(frozen=True, slots=True)
class Bars:
    """The bars of one label: values by the number of their series."""

    label: str
    values: Mapping[int, float]


def chart(title: str, series: Sequence[str], rows: Sequence[Bars], unit: str) -> str:
    """Horizontal bars from 0 to the greatest value, each with its figure."""
    greatest = max((v for row in rows for v in row.values.values()), default=1.0) or 1.0
    parts = [_text(_LABELS, 16, title, "start", weight="bold"), *_legend(series)]
    y = _TOP
    for row in rows:
        height = _THICK * len(row.values)
        parts.append(_text(_LABELS - 8, y + height / 2 + 4, row.label, "end"))
        for place, (i, value) in enumerate(row.values.items()):
            parts += _bar(y + place * _THICK, value, value / greatest, COLOURS[i], unit)
        y += height + _GAP
    width = _LABELS + _BARS + _FIGURES
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}" '
        f'font-family="sans-serif" font-size="11">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _legend(series: Sequence[str]) -> list[str]:
    parts = []
    for i, name in enumerate(series):
        x = _LABELS + 150 * i
        parts.append(f'<rect x="{x}" y="24" width="10" height="10" fill="{COLOURS[i]}"/>')
        parts.append(_text(x + 14, 33, name, "start"))
    return parts


def _bar(y: float, value: float, share: float, colour: str, unit: str) -> list[str]:
    width = _BARS * share
    return [
        f'<rect x="{_LABELS}" y="{y}" width="{width:.1f}" height="{_THICK - 2}" fill="{colour}"/>',
        _text(_LABELS + width + 4, y + 9, f"{value:.3g} {unit}", "start"),
    ]


def _text(x: float, y: float, text: str, anchor: str, weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="{GREY}">{escape(text)}</text>'
    )
