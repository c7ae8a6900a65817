"""ONNX layers and embeddings with quantized weights are one node each. Compared with NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, helper
from spirloom.errors import ImportFailure
from spirloom.ir import Array
from spirloom.op_library import OpLibrary

from tests.frontend.models import compute, imported, model, node, ops, random

RNG = np.random.default_rng(5)


def runtime_model(made: NodeProto, x: tuple[int, ...], constants: dict[str, Array]) -> ModelProto:
    made.domain = "com.microsoft"
    net = model([made], {"x": x}, constants)
    net.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return net


def packed(codes: Array) -> Array:
    """Packs two values of 0..15 per byte. Rows start at bytes."""
    even = np.pad(codes, [(0, 0), (0, codes.shape[1] % 2)])
    return np.asarray(even[:, 0::2] | even[:, 1::2] << 4, np.uint8)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("narrow", [False, True])
def test_matmul_nbits(
    library: OpLibrary, tmp_path: Path, bits: int, zeros: bool, narrow: bool
) -> None:
    """The bits of the layer are those of the node, also if all codes fit fewer bits."""
    rows, depth, block = 7, 96, 32
    first, end = (1 << (bits - 1), (1 << (bits - 1)) + 2) if narrow else (0, 1 << bits)
    codes = RNG.integers(first, end, (rows, depth)).astype(np.uint8)
    scales = random(rows, depth // block)
    points = RNG.integers(first, end, scales.shape).astype(np.uint8)
    made = node("MatMulNBits", f"x w s {'z' if zeros else '-'} - c", N=rows, K=depth, bits=bits,
                block_size=block)  # fmt: skip
    stored = packed(codes) if bits == 4 else codes
    constants = {"w": stored.reshape(rows, 3, -1), "s": scales.reshape(-1), "c": random(rows)}
    if zeros:
        constants["z"] = (packed(points) if bits == 4 else points).reshape(-1)
    graph = imported(runtime_model(made, (2, depth), constants), library, tmp_path)
    assert ops(graph) == [f"spirloom.linear_w{bits}"]
    center = points if zeros else np.full(scales.shape, 1 << (bits - 1))
    weight = (codes - np.repeat(center, block, 1).astype(float)) * np.repeat(scales, block, 1)
    x = random(2, depth, seed=9)
    expected = x @ weight.T + constants["c"]
    np.testing.assert_allclose(compute(graph, x), expected, rtol=1e-5, atol=1e-3)


def test_invalid_groups(library: OpLibrary, tmp_path: Path) -> None:
    made = node("MatMulNBits", "x w s", N=7, K=96, bits=4, block_size=32)
    constants = {"w": np.zeros((7, 3, 15), np.uint8), "s": random(21)}
    with pytest.raises(ImportFailure, match="315 uint8, is not 7 x 96 of 4 bits"):
        imported(runtime_model(made, (2, 96), constants), library, tmp_path)


def test_gather_block_quantized(library: OpLibrary, tmp_path: Path) -> None:
    codes = RNG.integers(0, 16, (9, 64)).astype(np.uint8)
    scales = random(9, 2)
    made = [node("Cast", "x", "i", to=6), node("GatherBlockQuantized", "w i s", block_size=32)]
    made[1].domain = "com.microsoft"
    net = model(made, {"x": (2, 3)}, {"w": packed(codes), "s": scales})
    net.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    graph = imported(net, library, tmp_path)
    assert ops(graph)[-1] == "spirloom.embedding_w4"
    table = (codes - 8.0) * np.repeat(scales, 32, 1)
    index = np.array([[0, 8, 3], [1, 1, 7]], np.float32)
    np.testing.assert_allclose(compute(graph, index), table[index.astype(int)], rtol=1e-5)


@pytest.mark.parametrize("form", ["MatMul", "Gemm", "transposed Gemm", "Transpose"])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_dequantized_weights(library: OpLibrary, tmp_path: Path, form: str, kind: type) -> None:
    rows = form in ("Transpose", "transposed Gemm")  # [outputs, inputs]
    codes: Array = RNG.integers(0, 120, (6, 40) if rows else (40, 6)).astype(kind)
    zeros: Array = RNG.integers(0, 100, 6).astype(kind)
    scales = random(6)
    made = [node("DequantizeLinear", "w s z", "d", axis=0 if rows else 1)]
    match form:
        case "Transpose":
            made += [node("Transpose", "d", "t", perm=[1, 0]), node("MatMul", "x t")]
        case "MatMul":
            made.append(node("MatMul", "x d"))
        case _:
            made.append(node("Gemm", "x d c", transB=int(rows)))
    constants = {"w": codes, "s": scales, "z": zeros, "c": random(6)}
    graph = imported(model(made, {"x": (3, 40)}, constants), library, tmp_path)
    assert ops(graph) == ["spirloom.linear_w8"]
    wide = codes.astype(float) if not rows else codes.T.astype(float)
    x = random(3, 40, seed=4)
    expected = x @ ((wide - zeros) * scales) + (constants["c"] if "Gemm" in form else 0)
    np.testing.assert_allclose(compute(graph, x), expected, rtol=1e-5, atol=1e-3)
