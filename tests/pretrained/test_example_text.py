"""examples/text: its commands, and the same boxes and texts as with ONNX Runtime."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import]
import pytest
from PIL import Image

from examples.text import draw, read
from tests.example_commands import MODELS, documented, run_documented

README = Path(__file__).resolve().parents[2] / "examples/text/README.md"
TEXTS = ["Corner Cafe", "Espresso", "2.40", "Apple pie", "3.80", "Lemonade", "3.10"]
TEXTS += ["Total 9.30 EUR", "THANK YOU"]
LINE = re.compile(r"^ *([\d.]+) %  (.+)$", re.MULTILINE)  # score and text


def with_onnx_runtime(path: Path, shape: tuple[int, ...]) -> read.Network:
    """The model in ONNX Runtime, whatever the shape."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})  # type: ignore[no-any-return]


def test_boxes_and_texts_are_those_of_onnx_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(MODELS)
    image = draw.draw()
    found, expected = read.read(image), read.read(image, with_onnx_runtime)
    assert [line.text for line in found] == [line.text for line in expected] == TEXTS
    boxes = np.array([line.box for line in expected])
    assert np.abs(np.array([line.box for line in found]) - boxes).max() <= 1
    scores = [line.score for line in expected]
    np.testing.assert_allclose([line.score for line in found], scores, atol=1e-3)


def test_documented_commands(tmp_path: Path) -> None:
    names = ("build/receipt.png", "build/boxes.png")
    outputs = run_documented(README, {name: tmp_path / Path(name).name for name in names})
    printed, wanted = LINE.findall(list(outputs.values())[-1]), LINE.findall(documented(README))
    assert [text for _, text in printed] == [text for _, text in wanted] == TEXTS
    scores = [float(score) for score, _ in wanted]
    np.testing.assert_allclose([float(score) for score, _ in printed], scores, atol=0.3)
    receipt, boxes = (np.asarray(Image.open(tmp_path / Path(name).name)) for name in names)
    changed = (receipt != boxes).any(axis=2)
    assert 1000 < changed.sum() < 10_000  # the outlines of nine boxes


def test_a_picture_without_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(MODELS)
    assert read.read(Image.new("RGB", (64, 32), "white"), with_onnx_runtime) == []
