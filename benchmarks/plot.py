"""Bar charts as SVG; deterministic output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLORS = ("#4269d0", "#efb118", "#ff725c")
GRAY = "#808080"  # text color: legible on light and on dark backgrounds
_LABELS, _BARS, _FIGURES = 250, 400, 70
_THICK, _GAP, _TOP = 12, 4, 44


@dataclass(frozen=True, slots=True)
class Bars:
    """The bars of one label: values by the index of their series."""

    label: str
    values: Mapping[int, float]


def chart(title: str, series: Sequence[str], rows: Sequence[Bars], unit: str) -> str:
    """Horizontal bars from 0 to the maximum value, each labeled with its value."""
    maximum = max((v for row in rows for v in row.values.values()), default=1.0) or 1.0
    parts = [_text(_LABELS, 16, title, "start", weight="bold"), *_legend(series)]
    y = _TOP
    for row in rows:
        height = _THICK * len(row.values)
        parts.append(_text(_LABELS - 8, y + height / 2 + 4, _shortened(row.label), "end"))
        for line, (i, value) in enumerate(row.values.items()):
            parts += _bar(y + line * _THICK, value, value / maximum, COLORS[i], unit)
        y += height + _GAP
    width = _LABELS + _BARS + _FIGURES
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}" '
        f'font-family="sans-serif" font-size="11">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _shortened(label: str) -> str:
    """Labels longer than the margin lose characters in the middle."""
    return label if len(label) <= 42 else f"{label[:26]}…{label[-15:]}"


def _legend(series: Sequence[str]) -> list[str]:
    parts = []
    for i, name in enumerate(series):
        x = _LABELS + 150 * i
        parts.append(f'<rect x="{x}" y="24" width="10" height="10" fill="{COLORS[i]}"/>')
        parts.append(_text(x + 14, 33, name, "start"))
    return parts


def _bar(y: float, value: float, share: float, color: str, unit: str) -> list[str]:
    width = _BARS * share
    return [
        f'<rect x="{_LABELS}" y="{y}" width="{width:.1f}" height="{_THICK - 2}" fill="{color}"/>',
        _text(_LABELS + width + 4, y + 9, f"{value:.3g} {unit}", "start"),
    ]


def _text(x: float, y: float, text: str, anchor: str, weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="{GRAY}">{escape(text)}</text>'
    )
