"""Weights of 4, 8 and 16 bits: dequantized in the graph, or quantized at import."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto
from spirloom import graph_file
from spirloom.builder import Builder
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType, Graph, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize
from spirloom.passes.large_weights import split_weights
from spirloom.passes.weight_quantization import Quantization, quantize_weights
from spirloom.quantized_weights import fp16_scales, quantize_matrix, transposed

from spec_model.stored_float import decoded, encoded
from tests.frontend.models import compute, model, node, ops, random

DEQUANTIZE = "spirloom.dequantize"


def layers(library: OpLibrary, depth: int = 64, fp16: bool = False) -> Graph:
    """An embedding and two layers, with a residual, an activation and a bias between them."""
    dtype = np.float16 if fp16 else np.float32
    graph = Graph([Tensor("x", DType.I32, (2, 3))])
    build = Builder(library, graph)

    def layer(name: str, x: Tensor, features: int, seed: int, **more: object) -> Tensor:
        build.name = name
        weight = random(features, x.shape[-1], seed=seed).astype(dtype)
        return build.emit("aten.linear", x=x, weight=constant(f"{name}.weight", weight), **more)

    build.name = "tokens"
    table = constant("table", random(50, depth, seed=1).astype(dtype))
    x = build.emit("aten.embedding", x=table, index=graph.inputs[0])
    bias = constant("bias", random(depth, seed=2).astype(dtype))
    y = build.add(layer("first", x, depth, 3, bias=bias), x)
    graph.outputs = [layer("head", build.emit("aten.relu", x=y), 33, 4)]
    graph.outputs[0].name = "y"
    return graph


def weight_bytes(graph: Graph) -> dict[str, float]:
    """For each node, bytes per weight element, including scales and zero points."""
    found = {}
    for each in graph.nodes:
        tensors = [t for t in each.inputs() if t.data is not None and t.name != "bias"]
        weight = next(t for t in tensors if t.dtype in (DType.I8, DType.U8))
        elements = prod(weight.shape) * (2 if weight.dtype is DType.U8 else 1)
        found[each.name] = sum(t.size for t in tensors) / elements
    return found


@pytest.mark.parametrize(("text", "limit"), [("int4:32", 0.60), ("int4:128", 0.60), ("int8", 1.05),
                                            ("int8:64", 1.05)])  # fmt: skip
@pytest.mark.parametrize("fp16", [False, True])
def test_rounded_layers_are_one_node_and_small(
    library: OpLibrary, text: str, limit: float, fp16: bool
) -> None:
    plain, graph = (layers(library, 128, fp16) for _ in range(2))
    optimize(graph, library, quantize=Quantization.of(text))
    bits = text[3]
    linear = f"spirloom.linear_w{bits}"
    assert ops(graph) == [f"spirloom.embedding_w{bits}", linear, linear]
    assert all(size <= limit for size in weight_bytes(graph).values())
    stored = graph_file.to_bytes(graph)
    elements = 50 * 128 + 128 * 128 + 33 * 128
    # The bias and the node descriptions have 128 * 4 + 4000 bytes.
    assert len(stored) <= limit * elements + 128 * 4 + 4000
    index = np.array([[0, 49, 7], [1, 2, 3]], np.int32)
    given, wanted = (compute(g, index).astype(np.float64) for g in (graph, plain))
    error = np.square(given - wanted).mean() / np.square(wanted).mean()
    assert 0 < error < (0.05 if bits == "4" else 1e-3)


def with_offsets(graph: Graph, library: OpLibrary) -> None:
    """Adds offsets to each operator with scales."""
    made: dict[str, Tensor] = {}
    for each in graph.nodes:
        scales = library.arg(each, "scales") if library.has_arg(each.op, "offsets") else None
        if isinstance(scales, Tensor):
            offsets = constant(f"{scales.name}.offsets", random(*scales.shape, seed=6))
            offsets = made.setdefault(offsets.name, offsets)
            each.args = library.with_args(each, offsets=offsets)


def test_bfloat16_layers_are_of_the_rounded_weights(library: OpLibrary) -> None:
    plain, graph = (layers(library) for _ in range(2))
    optimize(graph, library, quantize=Quantization.of("bf16"))
    assert ops(graph) == ["spirloom.embedding_bf16"] + ["spirloom.linear_bf16"] * 2
    assert all(size == 2 for size in bytes_of_numbers(graph))
    index = np.array([[0, 49, 7], [1, 2, 3]], np.int32)
    unrounded = compute(plain, index)
    for each in plain.tensors():
        if each.data is not None and each.name != "bias":
            each.data = decoded(encoded(each.data, "bf16"), "bf16")
    found, wanted = compute(graph, index), compute(plain, index)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    assert np.abs(unrounded - wanted).max() > 1e-3, "they were rounded"


def bytes_of_numbers(graph: Graph) -> list[float]:
    """For each node, the bytes per weight element."""
    weights = [t for node in graph.nodes for t in node.inputs() if t.dtype is DType.BF16]
    return [weight.size / prod(weight.shape) for weight in weights]


def test_bfloat16_is_rounded_to_nearest() -> None:
    given = np.array([1, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -0.0, 3e38, 3.4e38, 1e-37])
    wanted = [1, 1, 1 + 2**-6, 1 + 2**-7, -0.0, 3e38, np.inf, 1e-37]
    found = decoded(encoded(given, "bf16"), "bf16")
    np.testing.assert_allclose(found, wanted, rtol=2**-8, atol=1e-42)
    assert found[:4].tolist() == wanted[:4] and np.signbit(found[4])
    quantized = np.array([np.nan, np.inf, -np.inf], np.float32)
    quantized[0] = np.array(0x7F800001, np.uint32).view(np.float32)  # NaN only in the last bit
    np.testing.assert_equal(decoded(encoded(quantized, "bf16"), "bf16"), quantized)


def test_bfloat16_is_of_float32_layers(library: OpLibrary) -> None:
    with pytest.raises(ImportFailure, match="Remove --fp16"):
        optimize(layers(library), library, fp16=True, quantize=Quantization.of("bf16"))
    graph = layers(library, fp16=True)
    optimize(graph, library, quantize=Quantization.of("bf16"))
    assert ops(graph) == ["aten.embedding", "aten.linear", "aten.linear"]


@pytest.mark.parametrize("text", ["int4:32", "int8:64", "int8", "bf16"])
@pytest.mark.parametrize("offset", [False, True])
def test_large_weights_are_cut_with_their_scales(
    library: OpLibrary, text: str, offset: bool
) -> None:
    plain, graph = (layers(library, 128) for _ in range(2))
    for each in (plain, graph):
        optimize(each, library, quantize=Quantization.of(text))
        if offset:
            with_offsets(each, library)
    kind, bits = ("bf16", 16) if text == "bf16" else (f"w{text[3]}", int(text[3]))
    split_weights(graph, library, largest=32 * 128 * bits // 8)
    cut = [op for op in ops(graph) if "linear" in op or "embedding" in op]
    assert cut == [f"spirloom.embedding_{kind}"] * 2 + [f"spirloom.linear_{kind}"] * 6
    index = np.array([[0, 49, 32], [31, 2, 3]], np.int32)
    # The residual is then a separate addition, rounded once more.
    found, wanted = compute(graph, index), compute(plain, index)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())


def test_rounding() -> None:
    weight = random(7, 64, seed=5)
    for bits, group in ((4, 32), (8, 0), (8, 32)):
        quantized = quantize_matrix(weight, bits, group)
        by_group = weight.reshape(7, -1, group or 64)
        values, scales = quantized.values().reshape(by_group.shape), quantized.scales[..., None]
        error, step = np.abs(by_group - values * scales), np.abs(scales)
        top = by_group > 7 * step if bits == 4 else np.zeros(by_group.shape, bool)
        assert (error[~top] <= (0.5 * np.broadcast_to(step, error.shape) * 1.13)[~top]).all()
        assert quantized.values().min() == (-8 if bits == 4 else -127)


def test_rows_of_zeros_and_of_tiny_values() -> None:
    weight = np.zeros((2, 32), np.float32)
    weight[1] = np.linspace(-1e-9, 1e-9, 32)
    quantized = quantize_matrix(weight, 4, 32)
    scales = quantized.arguments("w")["scales"]
    assert (quantized.values()[0] == 0).all()
    assert isinstance(scales, Tensor) and scales.dtype is DType.F32
    np.testing.assert_allclose(quantized.values()[1] * quantized.scales[1], weight[1], atol=2e-10)


@pytest.mark.parametrize("shape", [(0, 3), (1, 5), (300, 7), (128, 1)])
def test_transpositions(shape: tuple[int, int]) -> None:
    matrix = np.arange(np.prod(shape), dtype=np.float16).reshape(shape)
    found = transposed(matrix)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, matrix.T)


def test_scales_are_fp16_if_the_error_is_small() -> None:
    """Very small scales next to larger ones are rounded too."""
    scales = np.array([[0.01, 0.02], [1e-6, 0.0]], np.float32)
    assert (fp16_scales(scales) == scales.astype(np.float16)).all()
    assert (fp16_scales(scales[1:]) == scales[1:]).all() and (
        fp16_scales(scales * 1e7) == scales * 1e7
    ).all()


def test_skipped_names_and_unsupported_shapes(library: OpLibrary) -> None:
    graph = layers(library)
    quantize_weights(graph, library, Quantization.of("int4:32", ["head*", "tok?ns"]))
    assert [n.name for n in graph.nodes if n.op == "spirloom.linear_w4"] == ["first"]
    graph = layers(library, depth=40)
    quantize_weights(graph, library, Quantization.of("int4:32"))
    assert "aten.linear" in ops(graph) and "spirloom.linear_w4" not in ops(graph)


@pytest.mark.parametrize(("text", "row_bytes"), [("int4:32", 32 + 2 * 2), ("bf16", 2 * 64)])
def test_tied_weights_are_stored_once(library: OpLibrary, text: str, row_bytes: int) -> None:
    table = constant("table", random(50, 64))
    graph = Graph([Tensor("x", DType.I32, (3,))])
    build = Builder(library, graph)
    x = build.emit("aten.embedding", x=table, index=graph.inputs[0])
    graph.outputs = [build.emit("aten.linear", x=x, weight=table)]
    optimize(graph, library, quantize=Quantization.of(text))
    assert sum(t.size for t in graph.tensors() if t.data is not None) == 50 * row_bytes


@pytest.mark.parametrize("text", ["int4", "int4:16", "int3:32", "int8:", "4", ""])
def test_other_formats(text: str) -> None:
    with pytest.raises(ImportFailure, match="--quantize expects int4:GROUP"):
        Quantization.of(text)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made: list[NodeProto] = [node("MatMul", "x w", "h"), node("Gemm", "h v c", "y", transB=1)]
    constants = {"w": random(64, 32), "v": random(10, 32), "c": random(10)}
    (tmp_path / "net.onnx").write_bytes(model(made, {"x": (3, 64)}, constants).SerializeToString())
    command = ["import", str(tmp_path / "net.onnx"), "-o", str(tmp_path / "net.slg")]
    assert main([*command, "--quantize", "int4:32", "--quantize-skip", "Gemm*"]) == 0
    assert "linear_w4" in inspected(tmp_path / "net.slg", capsys)
    assert main([*command, "--quantize-skip", "Gemm*"]) == 1
    assert "--quantize-skip requires --quantize" in capsys.readouterr().err


def inspected(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["inspect", str(path), "--nodes"]) == 0
    return capsys.readouterr().out


Case = tuple[Array, Array, Array, dict[str, object]]
RNG = np.random.default_rng(3)
CASES: dict[str, Case] = {
    "tensor": (RNG.integers(-128, 128, (6, 40)).astype(np.int8), np.array([0.1], np.float32),
               np.array([3], np.int32), {}),
    "rows": (RNG.integers(-128, 128, (6, 40)).astype(np.int8), random(6), np.zeros(6, np.int32),
             {"axis": 0}),
    "groups": (RNG.integers(-8, 8, (6, 64)).astype(np.int8), random(6, 2),
               RNG.integers(-8, 8, (6, 2)).astype(np.int32), {"block_size": (1, 32)}),
    "unsigned": (RNG.integers(0, 16, (6, 64)).astype(np.uint8), random(6, 2),
                 RNG.integers(0, 16, (6, 2)).astype(np.int32), {"block_size": (1, 32)}),
    "bytes": (RNG.integers(0, 256, (6, 40)).astype(np.uint8), random(6, 1),
              RNG.integers(0, 256, (6, 1)).astype(np.int32), {}),
}  # fmt: skip


def dequantized(library: OpLibrary, case: Case, transposed: bool) -> Graph:
    values, scale, zero, layout = case
    if transposed:
        values, scale, zero = values.T.copy(), scale.T.copy(), zero.T.copy()
        layout = {key: tuple(reversed(v)) if isinstance(v, tuple) else 1 - int(str(v))
                  for key, v in layout.items()}  # fmt: skip
    graph = Graph([Tensor("x", DType.F32, (3, 64 if 64 in values.shape else 40))])
    build = Builder(library, graph)
    weight = build.emit(DEQUANTIZE, x=build.constant(values), scale=build.constant(scale),
                        zero_point=build.constant(zero), **layout)  # fmt: skip
    weight = build.permute(weight, [1, 0]) if transposed else weight
    y = build.emit("aten.linear", x=graph.inputs[0], weight=weight)
    graph.outputs = [build.add(y, build.constant(random(6, seed=8)))]
    graph.outputs[0].name = "y"
    return graph


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_dequantized_weights_are_fused(library: OpLibrary, name: str, transposed: bool) -> None:
    plain, graph = (dequantized(library, CASES[name], transposed) for _ in range(2))
    optimize(graph, library)
    bits = 4 if name in ("groups", "unsigned") else 8
    assert ops(graph) == [f"spirloom.linear_w{bits}"]
    x = random(*graph.inputs[0].shape)
    np.testing.assert_allclose(compute(graph, x), compute(plain, x), rtol=1e-4, atol=1e-3)


def test_ragged_groups_stay_dequantized(library: OpLibrary) -> None:
    case: Case = (RNG.integers(-8, 8, (6, 40)).astype(np.int8), random(6, 20),
            np.zeros((6, 20), np.int32), {"block_size": (1, 2)})  # fmt: skip
    graph = dequantized(library, case, False)
    optimize(graph, library)
    assert DEQUANTIZE in ops(graph) and "aten.linear" in ops(graph)
