"""Damaged ONNX files end in a message, whatever is damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from spirloom.errors import ImportFailure
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.ops import OpLibrary
from spirloom.passes import optimize

from tests.frontend.models import model, node, random


def seed_model() -> bytes:
    """A model with shape arithmetic, windows, a resize and constants of several types."""
    nodes = [
        node("Conv", "x w", "c", pads=[1, 1, 1, 1], strides=[1, 1]),
        node("MaxPool", "c", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Resize", "p - s", "r", mode="linear"),
        node("Shape", "r", "d"),
        node("Gather", "d first", "n"),
        node("Concat", "n rest", "t", axis=0),
        node("Reshape", "r t", "f"),
        node("Softmax", "f", axis=1),
    ]
    constants = {
        "w": random(2, 3, 3, 3),
        "s": np.array([1, 1, 2, 1.5], dtype=np.float32),
        "first": np.array([0], dtype=np.int64),
        "rest": np.array([-1], dtype=np.int64),
    }
    data: bytes = model(nodes, {"x": (1, 3, 8, 8)}, constants).SerializeToString()
    return data


def test_damaged_models_never_end_in_a_traceback(library: OpLibrary, tmp_path: Path) -> None:
    whole = seed_model()
    generator = np.random.default_rng(3)
    path = tmp_path / "m.onnx"
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(generator.integers(1, 4)):
            data[generator.integers(len(data))] = generator.choice([0, 1, 8, 127, 255])
        path.write_bytes(data)
        try:
            optimize(import_model(path, library, Shapes()), library)
        except ImportFailure:
            refused += 1
    assert refused > 100
