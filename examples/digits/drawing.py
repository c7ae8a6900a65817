"""Renders small grayscale images as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from examples.terminal import bar, prints

BRIGHTEST = 16
BLOCKS = " ░▒▓█"
ASCII = " .+#@"
GAP = "   "


def shades() -> str:
    """Returns block characters if the terminal's encoding supports them, else ASCII characters."""
    return BLOCKS if prints(BLOCKS) else ASCII


def draw(pixels: npt.NDArray[np.uint8]) -> list[str]:
    """Returns one line of text per row of pixels (0 to 16); a pixel is two characters wide."""
    levels = shades()
    steps = (pixels.astype(int) * (len(levels) - 1) + BRIGHTEST // 2) // BRIGHTEST
    return ["".join(levels[step] * 2 for step in row) for row in steps]


def draw_bars(probabilities: npt.NDArray[np.float64], count: int, width: int) -> list[str]:
    """The most probable classes, each as a line with a bar: `3 ██████▌    93 %`."""
    chosen = np.argsort(-probabilities, kind="stable")[:count]
    room = width - len("0  100 %")
    lines = []
    for label in chosen:
        share = float(probabilities[label])
        lines.append(f"{label} {bar(share, room)} {share:4.0%}".replace("%", " %"))
    return lines


def draw_row(blocks: Sequence[Sequence[str]]) -> str:
    """Blocks of lines, such as images and captions, side by side."""
    height = max(len(block) for block in blocks)
    width = max(len(line) for block in blocks for line in block)
    rows = [[*block, *[""] * (height - len(block))] for block in blocks]
    lines = (GAP.join(f"{part:<{width}}" for part in parts) for parts in zip(*rows, strict=True))
    return "\n".join(line.rstrip() for line in lines) + "\n"
