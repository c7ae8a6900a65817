"""Integer operators on the device that compute in float32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from spirloom.cli import main

from tests.tools.programs import Program

Ints = np.ndarray[tuple[int, ...], np.dtype[np.int32]]


def computed(program: Program, directory: Path, node: onnx.NodeProto, x: Ints, w: object) -> Ints:
    """The output of a model with one node for x and a constant w."""
    shapes = (("x", x.shape), ("y", None))
    info = [helper.make_tensor_value_info(name, TensorProto.INT32, s) for name, s in shapes]
    graph = helper.make_graph(
        [node], "g", info[:1], info[1:], [numpy_helper.from_array(np.array(w), "w")]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)])
    onnx.save(model, str(directory / "m.onnx"))
    np.save(directory / "x.npy", x)
    assert main(["import", str(directory / "m.onnx"), "-o", str(directory / "m.slg")]) == 0
    done = program(
        directory / "m.slg", "--input", f"x={directory}/x.npy", "--output-dir", directory
    )
    assert done.returncode == 0, done.stderr
    y: Ints = np.load(directory / "y.npy")
    return y


@pytest.mark.parametrize("exponent", [0.5, 1.5, 2.5])
def test_half_powers_are_exact(spirloom_run: Program, tmp_path: Path, exponent: float) -> None:
    x: Ints = np.arange(500, dtype=np.int32)
    e = np.array(exponent, dtype=np.float32)
    y = computed(spirloom_run, tmp_path, helper.make_node("Pow", ["x", "w"], ["y"]), x, e)
    exact = np.power(x.astype(np.float64), exponent)
    checked = abs(exact - np.rint(exact)) > 2.0**-18 * exact
    checked |= np.sqrt(x) == np.rint(np.sqrt(x))
    np.testing.assert_array_equal(y[checked], exact.astype(np.int32)[checked])
    assert checked.sum() > 40 and checked[[9, 16, 25]].all()


@pytest.mark.parametrize("exponent", [1 / 3, 0.7, 2.2])
def test_other_powers_have_float_errors(
    spirloom_run: Program, tmp_path: Path, exponent: float
) -> None:
    x: Ints = np.arange(500, dtype=np.int32)
    e = np.array(exponent, dtype=np.float32)
    y = computed(spirloom_run, tmp_path, helper.make_node("Pow", ["x", "w"], ["y"]), x, e)
    exact = np.power(x.astype(np.float64), np.float64(e))
    assert (abs(y - np.trunc(exact)) <= 1 + 2.0**-17 * exact).all()
    assert (y == exact.astype(np.int32)).mean() > 0.5
    assert y[8] == {1 / 3: 2, 0.7: 4, 2.2: 97}[exponent]


def test_matmul_with_a_constant(spirloom_run: Program, tmp_path: Path) -> None:
    x: Ints = np.arange(-6, 6, dtype=np.int32).reshape(3, 4) * 30_000_001  # wraps
    w: Ints = np.arange(20, dtype=np.int32).reshape(4, 5) - 9
    y = computed(spirloom_run, tmp_path, helper.make_node("MatMul", ["x", "w"], ["y"]), x, w)
    np.testing.assert_array_equal(y, x @ w)
