"""Renders small grayscale images as text."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

BRIGHTEST = 16
BLOCKS = " ░▒▓█"
ASCII = " .+#@"
GAP = "   "


def shades() -> str:
    """Returns block characters if the terminal's encoding supports them, else ASCII characters."""
    try:
        BLOCKS.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return ASCII
    return BLOCKS


def draw(pixels: npt.NDArray[np.uint8]) -> list[str]:
    """Returns one line of text per row of pixels (0 to 16); a pixel is two characters wide."""
    levels = shades()
    steps = (pixels.astype(int) * (len(levels) - 1) + BRIGHTEST // 2) // BRIGHTEST
    return ["".join(levels[step] * 2 for step in row) for row in steps]


def draw_row(images: Sequence[npt.NDArray[np.uint8]], captions: Sequence[str]) -> str:
    """Renders the images side by side, each with its caption below."""
    rendered = [draw(image) for image in images]
    lines = [GAP.join(parts) for parts in zip(*rendered, strict=True)]
    width = len(rendered[0][0])
    lines.append(GAP.join(f"{caption:<{width}}" for caption in captions))
    return "\n".join(line.rstrip() for line in lines) + "\n"
