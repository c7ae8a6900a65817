"""ONNX operators on matrices: Det, MelWeightMatrix, MatMulNBits, sparse constants. The oracles are
ONNX Runtime, ONNX's reference implementation and NumPy.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from spirloom.errors import ImportFailure
from spirloom.ir import Array

from tests.frontend.models import random
from tests.torch.onnx_node import check, model_of, run_imported


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 3, 3), (2, 0, 3, 3), (2, 3, 4, 4)], ids=str)
def test_determinants(shape: tuple[int, ...], tmp_path: Path) -> None:
    x = random(*shape)
    model = model_of("Det", "x", {"x": x}, {}, {})
    found = run_imported(model, {"x": x}, tmp_path)
    np.testing.assert_allclose(found, np.linalg.det(x), 1e-5, 1e-5)


@pytest.mark.parametrize("shape", [(5, 5), (2, 3), (3, 0, 0)], ids=str)
def test_other_determinants_are_refused(shape: tuple[int, ...], tmp_path: Path) -> None:
    x = random(*shape)
    with pytest.raises(ImportFailure, match="determinants of matrices up to 4 x 4 are supported"):
        run_imported(model_of("Det", "x", {"x": x}, {}, {}), {"x": x}, tmp_path)


@pytest.mark.parametrize(
    ("bins", "length", "rate", "low", "high"),
    [(8, 16, 8192, 0.0, 4096.0), (80, 400, 16000, 20.0, 7600.0), (40, 1024, 44100, 0.0, 22050.0),
     (20, 32, 8000, 100.0, 4000.0), (1, 5, 100, 3.0, 40.0)],
)  # fmt: skip
def test_mel_weights(
    bins: int, length: int, rate: int, low: float, high: float, tmp_path: Path
) -> None:
    values = {"b": bins, "l": length, "r": rate}
    constants = {name: np.array(value) for name, value in values.items()}
    constants |= {"e": np.array(low, np.float32), "h": np.array(high, np.float32)}
    model = model_of("MelWeightMatrix", "b l r e h", {}, constants, {})
    (expected,) = ReferenceEvaluator(model).run(None, {})
    np.testing.assert_allclose(run_imported(model, {}, tmp_path), expected, 1e-6, 1e-6)


def test_mel_weights_of_inputs_are_refused(tmp_path: Path) -> None:
    arrays = {"e": np.array(1, np.float32)}
    constants = {"i": np.array(9), "h": np.array(4, np.float32)}
    model = model_of("MelWeightMatrix", "i i i e h", arrays, constants, {})
    with pytest.raises(ImportFailure, match="MelWeightMatrix, .*: its inputs must be constants"):
        run_imported(model, arrays, tmp_path)


def packed(codes: Array, bits: int) -> Array:
    """Rows of codes as bytes, the lowest bits first, each row padded to a byte."""
    parts = 8 // bits
    padded = np.pad(codes, ((0, 0), (0, -codes.shape[1] % parts))).reshape(len(codes), -1, parts)
    shifted = padded << (np.arange(parts) * bits)
    return np.asarray(shifted.sum(axis=-1), np.uint8)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("depth", [64, 70, 20])
@pytest.mark.parametrize("points", ["none", "codes", "floats"])
def test_blocks_of_few_bits(bits: int, depth: int, points: str, tmp_path: Path) -> None:
    generator, rows, block = np.random.default_rng(bits), 6, 32
    groups = -(-depth // block)
    codes = generator.integers(0, 1 << bits, (rows, groups * block))
    scales = generator.uniform(0.5, 1.5, (rows, groups)).astype(np.float32)
    zeros = np.full((rows, groups), 1 << (bits - 1))
    constants = {"w": packed(codes, bits).reshape(rows, groups, -1), "s": scales.reshape(-1)}
    if points == "codes":
        zeros = generator.integers(0, 1 << bits, (rows, groups))
        constants["z"] = packed(zeros, bits).reshape(-1)
    if points == "floats":
        zeros = generator.uniform(0, 1 << bits, (rows, groups)).astype(np.float32)
        constants["z"] = zeros
    x = random(2, 3, depth)
    attributes = {"N": rows, "K": depth, "bits": bits, "block_size": block}
    names = "x w s z" if "z" in constants else "x w s"
    model = model_of("com.microsoft.MatMulNBits", names, {"x": x}, constants, attributes)
    weight = (codes - np.repeat(zeros, block, 1)) * np.repeat(scales, block, 1)
    found = run_imported(model, {"x": x}, tmp_path)
    expected = x.astype(np.float64) @ weight[:, :depth].T
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("points", [False, True])
def test_blocks_as_in_onnx_runtime(points: bool, tmp_path: Path) -> None:
    """The layout of the packed weights and zero points, with a last block beyond K."""
    generator = np.random.default_rng(4)
    constants: dict[str, Array] = {
        "w": generator.integers(0, 256, (5, 3, 16), np.uint8),
        "s": generator.uniform(0.5, 1.5, 15).astype(np.float32),
    }
    if points:
        constants["z"] = generator.integers(0, 256, 10, np.uint8)
    attributes = {"N": 5, "K": 80, "bits": 4, "block_size": 32}
    names = "x w s z" if points else "x w s"
    arrays = {"x": random(2, 80)}
    op = "com.microsoft.MatMulNBits"
    check(op, names, arrays, constants, tmp_path, attributes, tolerance=1e-3)


def sparse(values: Array, indices: Array, dims: list[int]) -> onnx.SparseTensorProto:
    named = numpy_helper.from_array(values, "w"), numpy_helper.from_array(indices, "i")
    return helper.make_sparse_tensor(*named, dims)


SPARSE: list[tuple[list[object], list[int]]] = [
    ([1, 4], [2, 3]),
    ([[0, 1], [1, 1]], [2, 3]),
    ([[0, 0, 1], [1, 1, 0]], [2, 2, 3]),
    ([], [2, 3]),
]


@pytest.mark.parametrize("is_node", [False, True])
@pytest.mark.parametrize(("indices", "dims"), SPARSE)
def test_sparse_constants(
    indices: list[object], dims: list[int], is_node: bool, tmp_path: Path
) -> None:
    places = np.array(indices, np.int64)
    tensor = sparse(np.arange(1, 1 + len(indices), dtype=np.float32), places, dims)
    add = helper.make_node("Add", ["x", "w"], ["y"])
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in "xy"]
    nodes = [helper.make_node("Constant", [], ["w"], sparse_value=tensor)] if is_node else []
    graph = helper.make_graph([*nodes, add], "sparse", info[:1], [
        helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])  # fmt: skip
    if not is_node:
        graph.sparse_initializer.append(tensor)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    expected = np.zeros(dims, np.float32)
    flat = places if places.ndim == 1 else np.ravel_multi_index(tuple(places.T), dims)
    expected.reshape(-1)[flat] = np.arange(1, 1 + len(indices))
    x = random(2, 3)
    np.testing.assert_array_equal(run_imported(model, {"x": x}, tmp_path), x + expected)
