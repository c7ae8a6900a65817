"""Draws an image with text, a receipt: python examples/text/draw.py receipt.png"""

from __future__ import annotations

import sys

from PIL import Image, ImageDraw, ImageFont

SIZE = (480, 352)
TABLE, PAPER, INK, STAMP = (78, 62, 52), (250, 247, 238), (40, 40, 48), (190, 50, 50)
ITEMS = (("Espresso", "2.40"), ("Apple pie", "3.80"), ("Lemonade", "3.10"))
TOTAL = "Total  9.30 EUR"

Color = tuple[int, int, int]


def draw() -> Image.Image:
    """The receipt on a table."""
    image = Image.new("RGB", SIZE, TABLE)
    pen = ImageDraw.Draw(image)
    pen.rectangle((60, 16, 420, 336), PAPER)

    def write(x: int, y: int, text: str, size: int, anchor: str, color: Color = INK) -> None:
        font = ImageFont.load_default(size)
        pen.text((x, y), text, fill=color, font=font, anchor=anchor)

    write(240, 58, "Corner Cafe", 36, "mm")
    for row, (name, price) in enumerate(ITEMS):
        write(90, 118 + 42 * row, name, 24, "lm")
        write(390, 118 + 42 * row, price, 24, "rm")
    pen.line((90, 232, 390, 232), INK, 2)
    write(390, 258, TOTAL, 26, "rm")
    write(240, 306, "THANK YOU", 24, "mm", STAMP)
    return image


if __name__ == "__main__":
    draw().save(sys.argv[1])
