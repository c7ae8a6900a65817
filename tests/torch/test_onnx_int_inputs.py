"""Integer inputs of ONNX models, compared with ONNX Runtime at every value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import]
import pytest
import spirloom
from onnx import NodeProto, TensorProto, helper
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.op_library import OpLibrary
from spirloom.sizes import Symbol

from tests.frontend import models
from tests.frontend.models import node
from tests.frontend.test_dynamic_graphs import varying

CONSTANTS = {
    "zero": np.array([0]), "one": np.array([1]), "three": np.array([3]), "first": np.array(0),
    "unit": np.array(1), "half": np.array(0.5, np.float32),
}  # fmt: skip
CASES: dict[str, list[NodeProto]] = {
    "range": [
        node("Range", "first n unit", "r"), node("Cast", "r", "f", to=TensorProto.FLOAT),
        node("Unsqueeze", "f one", "c"), node("ReduceMean", "x", "m", axes=[0], keepdims=1),
        node("Add", "c m"),
    ],
    "slice": [node("Unsqueeze", "n zero", "end"), node("Slice", "x zero end zero")],
    "expand": [
        node("Unsqueeze", "n zero", "rows"), node("Concat", "rows three", "shape", axis=0),
        node("Slice", "x zero one zero", "row"), node("Expand", "row shape"),
    ],
    "number": [
        node("Cast", "n", "f", to=TensorProto.FLOAT), node("Mul", "f half", "h"),
        node("Mul", "x h"),
    ],
    "integers": [
        node("Shape", "x", "s"), node("Mul", "s n", "p"), node("Slice", "p zero one", "k"),
        node("Cast", "k", "f", to=TensorProto.FLOAT),
        node("Mul", "x f", "q"), node("ReduceSum", "q zero", keepdims=0),
    ],
}  # fmt: skip


def _written(directory: Path, nodes: Sequence[NodeProto], dtype: int = TensorProto.INT64) -> Path:
    made = models.model(nodes, inputs={"x": [4, 3]}, constants=CONSTANTS, opset=13)
    made.graph.input.append(helper.make_tensor_value_info("n", dtype, []))
    path = directory / "net.onnx"
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.parametrize("name", CASES)
def test_results_equal_those_of_onnx_runtime(name: str, tmp_path: Path) -> None:
    path = _written(tmp_path, CASES[name])
    assert main(["import", str(path), "-o", str(tmp_path / "net.slg"), "--dim", "n=0..4"]) == 0
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
    with spirloom.load(tmp_path / "net.slg") as model:
        assert [(n.name, n.min, n.max, n.position) for n in model.int_inputs] == [("n", 0, 4, 1)]
        for n in range(5):
            (expected,) = session.run(None, {"x": x, "n": np.array(n, np.int64)})
            (found,) = model(x, n)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6, err_msg=str(n))


def test_a_fixed_value_is_a_constant(tmp_path: Path) -> None:
    path = _written(tmp_path, CASES["slice"])
    assert main(["import", str(path), "-o", str(tmp_path / "net.slg"), "--dim", "n=2"]) == 0
    with spirloom.load(tmp_path / "net.slg") as model:
        assert model.int_inputs == ()
        assert model(np.zeros((4, 3), np.float32))[0].shape == (2, 3)


def test_an_input_that_needs_bounds_is_reported(tmp_path: Path) -> None:
    path = _written(tmp_path, CASES["slice"])
    with pytest.raises(ImportFailure, match=r"--dim n=MIN\.\.MAX makes it an integer input"):
        varying(path, OpLibrary(), [])


def test_int32_inputs(tmp_path: Path) -> None:
    path = _written(tmp_path, CASES["number"], TensorProto.INT32)
    graph = varying(path, OpLibrary(), [Symbol("n", 0, 4)])
    assert [given.name for given in graph.int_inputs] == ["n"]
