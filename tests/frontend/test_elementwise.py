"""Pointwise operators, reductions and scans of ONNX, compared with their results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto
from spirloom.errors import ImportFailure
from spirloom.ir import Array
from spirloom.op_library import OpLibrary

from tests.frontend.models import compute, imported, model, node, ops, random

X = random(3, 5)
INSIDE = (X - X.min()) / (X.max() - X.min())


def run(
    library: OpLibrary, folder: Path, made: NodeProto, x: Array, constants: dict[str, Any] | None
) -> tuple[Array, list[str]]:
    graph = imported(model([made], {"x": x.shape}, constants, opset=14), library, folder)
    return compute(graph, x), ops(graph)


CASES: list[tuple[str, dict[str, Any], Array, dict[str, Any], str, Array]] = [
    ("Tan", {}, X, {}, "aten.tan", np.tan(X)),
    ("Asin", {}, INSIDE, {}, "aten.asin", np.arcsin(INSIDE)),
    ("Acosh", {}, 1 + INSIDE, {}, "aten.acosh", np.arccosh(1 + INSIDE)),
    ("Sign", {}, X, {}, "aten.sign", np.sign(X)),
    ("Softsign", {}, X, {}, "spirloom.softsign", X / (1 + np.abs(X))),
    (
        "Selu",
        {},
        X,
        {},
        "aten.selu",
        1.0507009873554805 * np.where(X > 0, X, 1.6732632423543772 * np.expm1(X)),
    ),
    ("Celu", {"alpha": 2.0}, X, {}, "aten.celu", np.where(X > 0, X, 2 * np.expm1(X / 2))),
    ("ThresholdedRelu", {"alpha": 0.3}, X, {}, "aten.threshold", np.where(X > 0.3, X, 0)),
    ("Shrink", {"lambd": 0.4}, X, {}, "aten.hardshrink", np.where(np.abs(X) > 0.4, X, 0)),
    (
        "Shrink",
        {"lambd": 0.4, "bias": 0.4},
        X,
        {},
        "aten.softshrink",
        np.sign(X) * np.maximum(np.abs(X) - 0.4, 0),
    ),
    ("Mod", {"fmod": 1}, X, {"b": np.float32(0.3)}, "aten.fmod.Tensor", np.fmod(X, 0.3)),
    ("PRelu", {}, X, {"b": np.float32(0.3)}, "aten._prelu_kernel", np.where(X > 0, X, 0.3 * X)),
    ("ReduceL1", {"axes": [1]}, X, {}, "aten.linalg_vector_norm", np.abs(X).sum(1, keepdims=True)),
    ("ReduceLogSumExp", {"keepdims": 0}, X, {}, "aten.logsumexp", np.log(np.exp(X).sum())),
    ("ArgMax", {"axis": 1}, X, {}, "aten.argmax", X.argmax(1)[:, None]),
    ("ArgMin", {"axis": 0, "keepdims": 0}, X, {}, "aten.argmin", X.argmin(0)),
    ("CumSum", {}, X, {"b": np.int64(1)}, "aten.cumsum", X.cumsum(1)),
    ("Trilu", {"upper": 0}, X, {"b": np.int64(-1)}, "aten.tril", np.tril(X, -1)),
]


@pytest.mark.parametrize(
    ("kind", "attributes", "x", "constants", "op", "expected"),
    CASES,
    ids=[f"{case[0]}-{number}" for number, case in enumerate(CASES)],
)
def test_one_operator(
    library: OpLibrary,
    tmp_path: Path,
    kind: str,
    attributes: dict[str, Any],
    x: Array,
    constants: dict[str, Any],
    op: str,
    expected: Array,
) -> None:
    """Each becomes one Spirloom operator."""
    given = {name: np.asarray(value) for name, value in constants.items()}
    y, used = run(library, tmp_path, node(kind, " ".join(["x", *given]), **attributes), x, given)
    assert used == [op]
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_exclusive_reverse_cumsum(library: OpLibrary, tmp_path: Path) -> None:
    axis = {"axis": np.asarray(np.int64(1))}
    made = node("CumSum", "x axis", exclusive=1, reverse=1)
    y, _ = run(library, tmp_path, made, X, axis)
    np.testing.assert_allclose(y, X[:, ::-1].cumsum(1)[:, ::-1] - X, rtol=1e-4, atol=1e-5)


def test_argmax_of_the_last_of_equal_ones(library: OpLibrary, tmp_path: Path) -> None:
    x = np.array([[1, 3, 3, 2]], dtype=np.float32)
    made = node("ArgMax", "x", axis=1, keepdims=0, select_last_index=1)
    assert run(library, tmp_path, made, x, None)[0].tolist() == [2]


def test_shrink_with_another_bias(library: OpLibrary, tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match="bias"):
        run(library, tmp_path, node("Shrink", "x", bias=0.25), X, None)


def test_bitwise_operators_of_newer_onnx(library: OpLibrary, tmp_path: Path) -> None:
    x = np.array([1, 6, -3], dtype=np.int32)
    made = model([node("BitwiseXor", "x b")], {"x": x.shape}, {"b": x[::-1]}, opset=18)
    made.graph.input[0].type.tensor_type.elem_type = TensorProto.INT32
    graph = imported(made, library, tmp_path)
    assert compute(graph, x).tolist() == (x ^ x[::-1]).tolist()
