r"""Draws docs/_static/examples.png: a classified photo, an image with its text, and a painting.

After the commands of the README files of photo, text and operator:

    python examples/composite.py build/photo/photo.slg build/operator/art/shaders.slpack \
        docs/_static/examples.png
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from examples.operator.paint import paint  # noqa: E402
from examples.photo.classify import classify, read_photo  # noqa: E402
from examples.text.draw import draw  # noqa: E402
from examples.text.read import draw_boxes, read  # noqa: E402

SIZE = (900, 400)
PANEL, GAP, TOP, BELOW = 284, 12, 40, 244  # width, margin, and the rows of an image and its text
PAGE, CARD, INK, FAINT, BAR = "#e8ebef", "#ffffff", "#20242a", "#5c6670", "#c0472b"
COLORS = 80  # in the file, for its size


class Panel:
    """A card with a title, an image of the card's width, and lines of text."""

    def __init__(self, page: Image.Image, index: int, title: str, image: Image.Image) -> None:
        self.pen = ImageDraw.Draw(page)
        self.left = GAP + index * (PANEL + GAP)
        card = (self.left, GAP, self.left + PANEL, SIZE[1] - GAP)
        self.pen.rounded_rectangle(card, 6, CARD)
        self.write(8, GAP + 14, title, 15, INK)
        height = BELOW - TOP - 8
        scale = max(PANEL / image.width, height / image.height)
        size = (round(image.width * scale), round(image.height * scale))
        x, y = (size[0] - PANEL) // 2, (size[1] - height) // 2
        scaled = image.resize(size, Image.Resampling.LANCZOS)
        page.paste(scaled.crop((x, y, x + PANEL, y + height)), (self.left, TOP))

    def write(self, x: int, y: int, text: str, size: int, color: str, anchor: str = "lm") -> None:
        """Text in the card, `x` from its left side or, with the anchor "rm", from its right."""
        at = self.left + (x if anchor[0] == "l" else PANEL - x)
        font = ImageFont.load_default(size)  # of Pillow 10.1 or newer
        self.pen.text((at, y), text, fill=color, font=font, anchor=anchor)


def add_photo(page: Image.Image, model: Path) -> None:
    photo = read_photo(HERE / "photo/cat.jpg")
    panel = Panel(page, 0, "PyTorch: a photo classified", photo)
    for row, (name, share) in enumerate(classify(model, photo)):
        y = BELOW + 14 + 27 * row
        panel.write(8, y, name, 14, INK)
        left = panel.left + 112
        panel.pen.rectangle((left, y - 8, left + max(1, round(share * 116)), y + 8), BAR)
        panel.write(8, y, f"{share:.1%}", 14, FAINT, "rm")


def add_text(page: Image.Image) -> None:
    image = draw()
    lines = read(image)
    panel = Panel(page, 1, "ONNX: text found and read", draw_boxes(image, lines))
    half = (len(lines) + 1) // 2
    for i, line in enumerate(lines):
        x, y = (8, 146)[i // half], BELOW + 14 + 27 * (i % half)
        panel.write(x, y, line.text, 14, INK)
        panel.write(PANEL - (136, PANEL - 8)[i // half], y, f"{line.score:.0%}", 11, FAINT, "rm")


def add_painting(page: Image.Image, kernels: Path) -> None:
    """The right half of the image is painted."""
    photo = read_photo(HERE / "photo/coffee.jpg")
    painting, _ = paint(photo, kernels)
    half = photo.width // 2
    photo.paste(painting.crop((half, 0, *painting.size)), (half, 0))
    ImageDraw.Draw(photo).line((half, 0, half, photo.height), "white", 3)
    panel = Panel(page, 2, "GLSL: an operator of your own", photo)
    spec = (HERE / "operator/op_specs/kuwahara.yaml").read_text(encoding="utf-8").splitlines()
    start = spec.index("kernel:")
    for row, line in enumerate([*spec[1].split(" -> "), *spec[start : start + 3]]):
        indent = 16 * (line.startswith(" ") or row == 1)
        text = f"-> {line}" if row == 1 else line.strip()
        panel.write(8 + indent, BELOW + 14 + 27 * row, text, 13, INK)


def compose(model: Path, kernels: Path) -> Image.Image:
    """The page with its three cards."""
    page = Image.new("RGB", SIZE, PAGE)
    add_photo(page, model)
    add_text(page)
    add_painting(page, kernels)
    return page.quantize(COLORS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path, help="photo.slg")
    parser.add_argument("kernels", type=Path, help="shaders.slpack")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    compose(arguments.model, arguments.kernels).save(arguments.output, optimize=True)


if __name__ == "__main__":
    main()
