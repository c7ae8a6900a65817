"""Runs the command line on a small network."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from spirloom.cli import main

from tests.frontend.models import model, node, random


def small_network() -> onnx.ModelProto:
    nodes = [
        node("Conv", "x w0", "a", pads=[1, 1, 1, 1]),
        node("Relu", "a", "r"),
        node("Conv", "r w1", "b"),
        node("Add", "b r", "s"),
        node("MaxPool", "s", "p", kernel_shape=[8, 8]),
        node("Flatten", "p", "f"),
        node("Gemm", "f w2 b2"),
    ]
    constants = {
        "w0": random(5, 3, 3, 3),
        "w1": random(5, 5, 1, 1),
        "w2": random(5, 4),
        "b2": random(4),
    }
    return model(nodes, {"x": ("batch", 3, 8, 8)}, constants)


def saved(made: onnx.ModelProto, folder: Path) -> str:
    path = folder / "m.onnx"
    path.write_bytes(made.SerializeToString())
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err
