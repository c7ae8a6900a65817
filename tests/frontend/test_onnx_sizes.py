"""ONNX shape arithmetic on symbolic sizes: one import, and the formulas that it finds."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto
from spirloom.op_library import OpLibrary
from spirloom.sizes import Symbol

from tests.frontend.models import node
from tests.frontend.test_dynamic_graphs import agree, varying, written

N, M = Symbol("n", 1, 12), Symbol("m", 2, 5)

CONSTANTS = {
    "zero": np.array([0]), "one": np.array([1]), "two": np.array([2]), "three": np.array([3]),
    "five": np.array([5]), "all": np.array([-1]), "half": np.array([0.5], np.float32),
    "first": np.array(0), "unit": np.array(1), "third": np.array([0.34], np.float32),
    "scales": np.array([1, 1, 2, 2], np.float32),
}  # fmt: skip
SIZES = [
    node("Shape", "x", "xs"), node("Gather", "xs zero", "n"),
    node("Shape", "z", "zs"), node("Gather", "zs zero", "m"),
]  # fmt: skip


def expanded(*sizes: NodeProto) -> list[NodeProto]:
    """The first row of x, repeated `s` times."""
    row = node("Slice", "x zero one", "row")
    shape = node("Concat", "s three", "shape", axis=0)
    return [*SIZES, *sizes, row, shape, node("Expand", "row shape", "y")]


CASES: dict[str, tuple[list[NodeProto], str]] = {
    "product": (expanded(node("Mul", "n m", "s")), "m*n"),
    "remainder": (expanded(node("Mod", "n three", "r"), node("Add", "r one", "s")),
                  "n + -3*((n)/3) + 1"),
    "minimum": (expanded(node("Min", "n m", "s")), "min(m, n)"),
    "clip": (expanded(node("Squeeze", "n zero", "q"), node("Clip", "q unit", "c"),
                      node("Unsqueeze", "c zero", "s")), "n"),
    "half": (expanded(node("Cast", "n", "f", to=1), node("Mul", "f half", "h"),
                      node("Ceil", "h", "g"), node("Cast", "g", "s", to=7)), "(n + 1)/2"),
    "third": (expanded(node("Cast", "n", "f", to=1), node("Mul", "f third", "h"),
                       node("Floor", "h", "g"), node("Cast", "g", "i", to=7),
                       node("Add", "i one", "s")), "(n + 3)/3"),
    "where": (expanded(node("Equal", "n one", "c"), node("Where", "c one n", "s")), "n"),
    "reduced": (expanded(node("Slice", "xs zero one", "a"), node("Concat", "a m", "b", axis=0),
                         node("ReduceProd", "b", "s", keepdims=1)), "m*n"),
    "counted": (expanded(node("ConstantOfShape", "n", "ones0"), node("Size", "ones0", "c"),
                         node("Unsqueeze", "c zero", "s")), "n"),
    "range": ([*SIZES, node("Squeeze", "n", "end"), node("Squeeze", "m", "start"),
               node("Add", "end start", "limit"), node("Range", "start limit unit", "r"),
               node("Cast", "r", "f", to=1), node("Unsqueeze", "f one", "c"),
               node("Add", "x c", "y")], "n"),
    "resized": ([node("Unsqueeze", "x axes", "i"),
                 node("Resize", "i - scales", "y", mode="nearest", nearest_mode="floor",
                      coordinate_transformation_mode="asymmetric")], "1"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_formulas(
    name: str, library: OpLibrary, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nodes, text = CASES[name]
    constants = {**CONSTANTS, "axes": np.array([0, 1])}
    path = written(
        tmp_path, nodes, inputs={"x": ["n", 3], "z": ["m"]}, constants=constants, opset=18
    )
    with caplog.at_level(logging.INFO):
        graph = varying(path, library, [N, M])
    assert "several sizes" not in caplog.text
    assert str(graph.outputs[0].shape[0]) == text
    for n in (1, 2, 3, 4, 7, 11, 12):
        for m in (2, 3, 5):
            agree(path, library, graph, {"n": n, "m": m})
