"""Powers and products of integers, compared with NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto
from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType
from spirloom.op_library import OpLibrary

from tests.frontend.models import compute, imported, model, node, ops

I32 = TensorProto.INT32
WHOLE = np.array([0, 1, 2, 4, 9, 10, 16, 25, 26], dtype=np.int32)


def run(
    library: OpLibrary,
    folder: Path,
    made: NodeProto,
    inputs: dict[str, Array],
    constants: dict[str, Any] | None = None,
) -> tuple[Array, list[str]]:
    described = model([made], {name: x.shape for name, x in inputs.items()}, constants, opset=15)
    for info, x in zip(described.graph.input, inputs.values(), strict=True):
        info.type.tensor_type.elem_type = I32 if x.dtype == np.int32 else TensorProto.FLOAT
    graph = imported(described, library, folder)
    assert graph.outputs[0].dtype is DType.I32
    return compute(graph, *inputs.values()), ops(graph)


@pytest.mark.parametrize(
    "exponent", [0.5, 1.5, 2.5, -0.5, 0.0, 1.0, 2.0, 3.0, [0.5], [2.0, 0.5, 1.5]]
)
@pytest.mark.parametrize("known", [True, False])
def test_powers_with_a_float_exponent(
    library: OpLibrary, tmp_path: Path, exponent: float | list[float], known: bool
) -> None:
    x, e = WHOLE[1:].reshape(-1, 1), np.array(exponent, dtype=np.float32)
    expected = np.power(x, e).astype(np.int32)
    given: dict[str, Array] = {"x": x} if known else {"x": x, "e": e}
    y, _ = run(library, tmp_path, node("Pow", "x e"), given, {"e": e} if known else {})
    np.testing.assert_array_equal(y, expected)
    nodes = [node("Pow", "x e", "p"), node("Add", "z p")]
    folded = model(nodes, {"z": x.shape}, {"x": x, "e": e}, opset=15, dtype=I32)
    sums = compute(imported(folded, library, tmp_path), np.zeros_like(x))
    np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("exponent", [3.0, np.int64(7), [0.0, 1.0, 4.0]])
def test_integer_exponents_are_exact(library: OpLibrary, tmp_path: Path, exponent: Any) -> None:
    """Beyond the precision of float32."""
    x, e = np.array([[1201], [-17], [21]], dtype=np.int32), np.array(exponent)
    e = e.astype(np.float32) if e.dtype == np.float64 else e
    y, used = run(library, tmp_path, node("Pow", "x e"), {"x": x}, {"e": e})
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.int64), e.astype(np.int64)).astype(np.int32)
    np.testing.assert_array_equal(y, exact)
    assert used == ["aten.pow.Tensor_Tensor"]


def test_products_with_a_constant(library: OpLibrary, tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    weight = generator.integers(-50, 50, (4, 5)).astype(np.int32)
    for shape in ((3, 4), (2, 3, 4), (4,)):
        x = generator.integers(-50, 50, shape).astype(np.int32)
        y, _ = run(library, tmp_path, node("MatMul", "x w"), {"x": x}, {"w": weight})
        np.testing.assert_array_equal(y, x @ weight)
    y, _ = run(library, tmp_path, node("MatMul", "w x"), {"x": weight}, {"w": weight.T.copy()})
    np.testing.assert_array_equal(y, weight.T @ weight)


@pytest.mark.parametrize("transposed", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_gemm_with_a_constant(
    library: OpLibrary, tmp_path: Path, transposed: tuple[int, int]
) -> None:
    generator = np.random.default_rng(4)
    a, b, c = (generator.integers(-50, 50, s).astype(np.int32) for s in ((3, 4), (4, 5), (5,)))
    given = a.T.copy() if transposed[0] else a
    constants = {"b": b.T.copy() if transposed[1] else b, "c": c}
    options = {"transA": transposed[0], "transB": transposed[1]}
    made = node("Gemm", "a b c", "y", alpha=2.0, beta=-3.0, **options)
    y, _ = run(library, tmp_path, made, {"a": given}, constants)
    np.testing.assert_array_equal(y, 2 * (a @ b) - 3 * c)
    made = node("Gemm", "a b", "y", **options)
    y, _ = run(library, tmp_path, made, {"a": given}, {"b": constants["b"]})
    np.testing.assert_array_equal(y, a @ b)
    with pytest.raises(ImportFailure, match=r"its alpha 0\.5 and beta 1\.0 must be integers"):
        run(library, tmp_path, node("Gemm", "a b", "y", alpha=0.5), {"a": a}, {"b": b})
