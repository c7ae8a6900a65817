"""Draws images and bars in a terminal. Only images require Pillow."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

UPPER_HALF = "▀"
EIGHTHS = " ▏▎▍▌▋▊▉█"


def prints(characters: str) -> bool:
    """Whether the encoding of the output has these characters."""
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def draw_image(image: Image.Image, columns: int = 64) -> str:
    """The image in 24-bit color; a character shows two pixels, one above the other."""
    from PIL.Image import Resampling

    rows = max(1, round(image.height * columns / image.width / 2))
    small = image.convert("RGB").resize((columns, 2 * rows), Resampling.BICUBIC)
    lines = []
    for y in range(0, 2 * rows, 2):
        line = ""
        for x in range(columns):
            upper, lower = small.getpixel((x, y)), small.getpixel((x, y + 1))
            line += f"\x1b[38;2;{_rgb(upper)}m\x1b[48;2;{_rgb(lower)}m{UPPER_HALF}"
        lines.append(f"{line}\x1b[0m")
    return "\n".join(lines)


def show(image: Image.Image, columns: int = 64) -> None:
    """Prints the image if the output is a terminal that shows it."""
    if sys.stdout.isatty() and prints(UPPER_HALF):
        print(draw_image(image, columns))


def draw_bars(shares: Sequence[tuple[str, float]], width: int = 32) -> list[str]:
    """A line per name and share (0 to 1): `espresso  ███████▌   94.2 %`."""
    room = max(len(name) for name, _ in shares)
    return [f"{name:<{room}}  {bar(share, width)} {share:6.1%}".replace("%", " %")
            for name, share in shares]  # fmt: skip


def bar(share: float, width: int) -> str:
    """A bar with a resolution of an eighth of a character, or of a character in ASCII."""
    if not prints(EIGHTHS):
        return f"{'#' * round(share * width):<{width}}"
    full, part = divmod(round(share * width * 8), 8)
    return f"{EIGHTHS[8] * full + EIGHTHS[part] * (part > 0):<{width}}"


def _rgb(color: float | tuple[int, ...] | None) -> str:
    """The color's part of an escape sequence."""
    assert isinstance(color, tuple)
    return ";".join(map(str, color[:3]))
