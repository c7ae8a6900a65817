"""ONNX's shape inference of single nodes runs in a process, which may crash or hang."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper
from spirloom.onnx import shape_inference
from spirloom.onnx.shape_inference import NodeInference

NODE = helper.make_node("Relu", ["x"], ["y"])
TYPES = {"x": helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 3])}


def outputs() -> dict[str, list[int]]:
    """The shapes that a new process infers."""
    inference = NodeInference([helper.make_opsetid("", 17)], [])
    try:
        found = inference.outputs(NODE, TYPES, {})
    finally:
        inference.close()
    return {
        name: [dim.dim_value for dim in kind.tensor_type.shape.dim] for name, kind in found.items()
    }


def test_shapes_are_inferred() -> None:
    assert outputs() == {"y": [2, 3]}


@pytest.mark.parametrize(
    "program",
    [
        "import time; time.sleep(1000)",
        "import sys, time; sys.stdout.buffer.write(b'1234'); sys.stdout.flush(); time.sleep(1000)",
        "",
    ],
    ids=["no answer", "a part of an answer", "an end"],
)
def test_without_an_answer_the_types_are_unknown(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shape_inference, "_TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr(shape_inference, "_NODE_PROGRAM", program)
    assert outputs() == {}
