"""Finds and reads the text in an image.

Prints the lines with their scores and writes the image with a box around each. The models are
PaddleOCR's, from the package rapidocr; only its files are used.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import spirloom.onnx
from PIL import Image, ImageDraw

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.terminal import show

DETECTION, RECOGNITION = "PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx"
MAX_SIDE = 960  # larger images are scaled
HEIGHT = 48  # of a line for the recognition
TEXT, BOX = 0.3, 0.5  # minimum score of a pixel, and mean score of a box
MARGIN = 1.6  # how far a box is expanded: the detection finds the core of a line

FloatArray = npt.NDArray[np.float32]
Box = tuple[int, int, int, int]  # left, top, right, bottom
Network = Callable[[FloatArray], Sequence[FloatArray]]
Load = Callable[[Path, tuple[int, ...]], Network]  # for inputs of this shape


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text with its box and the mean score of its characters."""

    box: Box
    text: str
    score: float


def model_path(name: str) -> Path:
    """A file of the package, which is not imported."""
    spec = find_spec("rapidocr")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("read: pip install --no-deps rapidocr==3.10.0 installs the models.")
    return Path(next(iter(spec.submodule_search_locations))) / "models" / name


def load(path: Path, shape: tuple[int, ...]) -> Network:
    """The model on the device."""
    return spirloom.onnx.load(path, shapes={"x": shape})


def planes(image: Image.Image) -> FloatArray:
    """The channels from -1 to 1 in the order of PaddleOCR: blue, green, red."""
    values = np.asarray(image, np.float32)[..., ::-1] / 127.5 - 1
    return np.ascontiguousarray(values.transpose(2, 0, 1)[None])


def regions(mask: npt.NDArray[np.bool_]) -> Iterator[Box]:
    """The boxes of connected pixels."""
    left = {(int(y), int(x)) for y, x in zip(*np.nonzero(mask), strict=True)}
    while left:
        reached = [left.pop()]
        for y, x in reached:
            for neighbor in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if neighbor in left:
                    left.remove(neighbor)
                    reached.append(neighbor)
        rows, columns = zip(*reached, strict=True)
        yield min(columns), min(rows), max(columns) + 1, max(rows) + 1


def detect(image: Image.Image, load: Load) -> list[Box]:
    """The boxes of the lines, from top to bottom. The network halves the image five times."""
    scale = min(1, MAX_SIDE / max(image.size))
    width, height = (max(32, 32 * round(side * scale / 32)) for side in image.size)
    network = load(model_path(DETECTION), (1, 3, height, width))
    ((scores,),) = network(planes(image.resize((width, height))))[0]
    boxes = []
    for left, top, right, bottom in regions(scores > TEXT):
        if min(right - left, bottom - top) < 3 or scores[top:bottom, left:right].mean() < BOX:
            continue
        w, h = right - left, bottom - top
        margin = w * h * MARGIN / (2 * (w + h))
        x, y = image.width / width, image.height / height
        boxes.append(
            (
                max(0, round((left - margin) * x)),
                max(0, round((top - margin) * y)),
                min(image.width, round((right + margin) * x)),
                min(image.height, round((bottom + margin) * y)),
            )
        )
    return sorted(boxes, key=lambda box: ((box[1] + box[3]) // 32, box[0]))


def characters(path: Path) -> list[str]:
    """The characters of the recognition's classes; class 0 is no character."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    text = next(entry.value for entry in model.metadata_props if entry.key == "character")
    return ["", *text.split("\n"), " "]


def recognize(image: Image.Image, boxes: Sequence[Box], load: Load) -> list[Line]:
    """The text in the boxes, which are a batch of lines with the width of the widest."""
    if not boxes:
        return []
    crops = [image.crop(box) for box in boxes]
    lines = [crop.resize((max(8, HEIGHT * crop.width // crop.height), HEIGHT)) for crop in crops]
    batch = np.zeros((len(lines), 3, HEIGHT, max(line.width for line in lines)), np.float32)
    for row, line in zip(batch, lines, strict=True):
        row[..., : line.width] = planes(line)[0]
    path = model_path(RECOGNITION)
    (scores,) = load(path, batch.shape)(batch)
    names = characters(path)
    return [Line(box, *text_of(of_box, names)) for box, of_box in zip(boxes, scores, strict=True)]


def text_of(scores: FloatArray, names: Sequence[str]) -> tuple[str, float]:
    """The text of the best path without repetitions, and the mean score of its characters."""
    best = scores.argmax(axis=1)
    kept = [t for t, c in enumerate(best) if c and (t == 0 or c != best[t - 1])]
    mean = float(np.mean([scores[t, best[t]] for t in kept])) if kept else 0.0
    return "".join(names[best[t]] for t in kept), mean


def read(image: Image.Image, load: Load = load) -> list[Line]:
    """All lines of an image."""
    return recognize(image, detect(image, load), load)


def draw_boxes(image: Image.Image, lines: Sequence[Line]) -> Image.Image:
    """The image with a box around each line."""
    drawn = image.copy()
    for line in lines:
        ImageDraw.Draw(drawn).rectangle(line.box, outline=(0, 150, 90), width=2)
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("image", type=Path)
    parser.add_argument("boxes", type=Path, help="the image to write")
    arguments = parser.parse_args()
    image = Image.open(arguments.image).convert("RGB")
    lines = read(image)
    drawn = draw_boxes(image, lines)
    drawn.save(arguments.boxes)
    show(drawn)
    for line in lines:
        print(f"{line.score:6.1%}  {line.text}".replace("%", " %"))


if __name__ == "__main__":
    main()
