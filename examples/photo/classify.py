"""Classifies a photo: prints the five most probable classes, below the photo in a terminal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import spirloom
from PIL import Image, ImageOps

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.terminal import draw_bars, show

SHOWN = 5
CROP = 224 / 256  # of the shorter side, as in the evaluation of the network


def read_photo(path: Path) -> Image.Image:
    """The photo, upright."""
    return ImageOps.exif_transpose(Image.open(path)).convert("RGB")


def center(photo: Image.Image, size: int) -> npt.NDArray[np.uint8]:
    """The center of the photo, uint8 [1, size, size, 3]."""
    side = round(min(photo.size) * CROP)
    left, top = (photo.width - side) // 2, (photo.height - side) // 2
    box = (left, top, left + side, top + side)
    return np.asarray(photo.resize((size, size), Image.Resampling.BICUBIC, box))[None]


def classify(model_path: Path, photo: Image.Image) -> list[tuple[str, float]]:
    """The most probable classes with their probabilities."""
    model = spirloom.load(model_path)
    names = model_path.with_name("labels.txt").read_text(encoding="utf-8").splitlines()
    (probabilities,) = model(center(photo, model.inputs[0].shape[1]))
    best = np.argsort(-probabilities[0], kind="stable")[:SHOWN]
    return [(names[i], float(probabilities[0, i])) for i in best]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path, help="photo.slg of export.py, next to labels.txt")
    parser.add_argument("photo", type=Path)
    arguments = parser.parse_args()
    photo = read_photo(arguments.photo)
    classes = classify(arguments.model, photo)
    show(photo)
    print("\n".join(draw_bars(classes)))


if __name__ == "__main__":
    main()
