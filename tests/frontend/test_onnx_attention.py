"""Attention, rotary embeddings and fused operators, compared with their formulas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper
from spirloom.errors import ImportFailure
from spirloom.ir import Array
from spirloom.op_library import OpLibrary

from tests.frontend.models import compute, imported, model, node, ops, random

SDPA = "aten.scaled_dot_product_attention"


def fused(op: str, inputs: str, outputs: str = "y", **attributes: object) -> NodeProto:
    """A node of ONNX Runtime's domain."""
    return node(op, inputs, outputs, domain="com.microsoft", **attributes)


def run(
    library: OpLibrary,
    folder: Path,
    made: NodeProto,
    inputs: dict[str, Array],
    constants: dict[str, Array] | None = None,
    output: str = "y",
) -> tuple[Array, list[str]]:
    """The result of a node for these inputs, and the operators of its graph."""
    shapes = {name: value.shape for name, value in inputs.items()}
    net = model([made], shapes, constants, (output,), opset=23)
    net.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    for info in net.graph.input:
        if inputs[info.name].dtype != np.float32:
            info.type.tensor_type.elem_type = _TYPES[inputs[info.name].dtype]
    graph = imported(net, library, folder)
    given = [inputs[t.name].astype(t.dtype.numpy) for t in graph.inputs]
    return compute(graph, *given), ops(graph)


_TYPES: dict[Any, int] = {
    np.dtype(np.bool_): TensorProto.BOOL,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.int64): TensorProto.INT64,
}


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def attend(q: Array, k: Array, v: Array, bias: Array | float = 0.0, cap: float = 0.0) -> Array:
    """Attention over [batch, head, position, size]."""
    shared = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, shared, 1), np.repeat(v, shared, 1)
    scores = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[3])
    scores = cap * np.tanh(scores / cap) if cap else scores
    return np.asarray(softmax(scores + bias) @ v)


def heads(x: Array, count: int) -> Array:
    return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)


def flat(x: Array) -> Array:
    x = x.swapaxes(1, 2)
    return x.reshape(*x.shape[:2], -1)


def causal(queries: int, keys: int, before: int = 0) -> Array:
    return np.where(np.tri(queries, keys, before, dtype=np.bool_), 0, -np.inf)


def turn(x: Array, cos: Array, sin: Array, interleaved: bool = False) -> Array:
    """Rotates the pairs of [batch, head, position, size] by angles [batch, position, pair]."""
    pairs = cos.shape[-1]
    step = (slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2))
    first, second = step if interleaved else (slice(0, pairs), slice(pairs, 2 * pairs))
    a, b, cos, sin = x[..., first], x[..., second], cos[:, None], sin[:, None]
    y = x.copy()
    y[..., first], y[..., second] = a * cos - b * sin, b * cos + a * sin
    return y


Q, K, V = random(2, 4, 5, 8, seed=1), random(2, 2, 7, 8, seed=2), random(2, 2, 7, 6, seed=3)


@pytest.mark.parametrize("seen", [False, True])
def test_attention_of_shared_heads_is_one_kernel(
    library: OpLibrary, tmp_path: Path, seen: bool
) -> None:
    made = node("Attention", "q k v", is_causal=int(seen))
    y, found = run(library, tmp_path, made, {"q": Q, "k": K, "v": V})
    assert found == [SDPA]
    np.testing.assert_allclose(y, attend(Q, K, V, causal(5, 7) if seen else 0.0), atol=1e-5)


def test_attention_of_columns_and_truth_masks(library: OpLibrary, tmp_path: Path) -> None:
    q, k, v = (flat(x) for x in (Q, K, V))
    mask = np.random.default_rng(4).random((5, 7)) < 0.7
    mask[:, 0] = True
    made = node("Attention", "q k v m", q_num_heads=4, kv_num_heads=2, is_causal=1)
    y, _ = run(library, tmp_path, made, {"q": q, "k": k, "v": v, "m": mask})
    bias = np.where(mask, 0, -np.inf) + causal(5, 7)
    np.testing.assert_allclose(y, flat(attend(Q, K, V, bias)), atol=1e-5)


def test_attention_over_a_past_with_a_cap(library: OpLibrary, tmp_path: Path) -> None:
    past = {"pk": random(2, 2, 3, 8, seed=5), "pv": random(2, 2, 3, 6, seed=6)}
    made = node("Attention", "q k v - pk pv", "y yk yv", is_causal=1, softcap=0.5)
    inputs = {"q": Q, "k": K, "v": V, **past}
    y, _ = run(library, tmp_path, made, inputs)
    k, v = np.concatenate([past["pk"], K], 2), np.concatenate([past["pv"], V], 2)
    np.testing.assert_allclose(y, attend(Q, k, v, causal(5, 10, 3), cap=0.5), atol=1e-5)
    present, _ = run(library, tmp_path, made, inputs, output="yv")
    np.testing.assert_array_equal(present, v)


def test_a_short_mask_hides_the_keys_beyond(library: OpLibrary, tmp_path: Path) -> None:
    mask = random(5, 4, seed=7)
    y, _ = run(library, tmp_path, node("Attention", "q k v m"), {"q": Q, "k": K, "v": V, "m": mask})
    np.testing.assert_allclose(y, attend(Q, K[:, :, :4], V[:, :, :4], mask), atol=1e-5)


@pytest.mark.parametrize("cap", [0.0, 0.5])
def test_fully_masked_queries_are_zero(library: OpLibrary, tmp_path: Path, cap: float) -> None:
    mask = np.ones((5, 7), np.bool_)
    mask[1] = mask[4] = False
    seen = mask.any(1)
    inputs = {"q": Q, "k": K, "v": V, "m": mask}
    made = node("Attention", "q k v m", "y a b scores", softcap=cap, qk_matmul_output_mode=3)
    y, _ = run(library, tmp_path, made, inputs)
    np.testing.assert_allclose(y[:, :, seen], attend(Q[:, :, seen], K, V, cap=cap), atol=1e-5)
    np.testing.assert_array_equal(y[:, :, ~seen], 0)
    scores, _ = run(library, tmp_path, made, inputs, output="scores")
    np.testing.assert_array_equal(scores[:, :, ~seen], 0)


def test_scores_of_attention(library: OpLibrary, tmp_path: Path) -> None:
    inputs = {"q": Q, "k": K, "v": V}
    made = node("Attention", "q k v", "y a b scores", qk_matmul_output_mode=3)
    y, _ = run(library, tmp_path, made, inputs, output="scores")
    expected = softmax(Q @ np.repeat(K, 2, 1).swapaxes(2, 3) / np.sqrt(8))
    np.testing.assert_allclose(y, expected, atol=1e-5)
    made = node("Attention", "q k v", "y a b scores", qk_matmul_output_mode=1)
    with pytest.raises(ImportFailure, match="qk_matmul_output_mode 1 depends on the release"):
        run(library, tmp_path, made, inputs, output="scores")


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_embedding_by_positions(
    library: OpLibrary, tmp_path: Path, interleaved: bool
) -> None:
    x, cos, sin = random(2, 5, 12, seed=1), random(9, 2, seed=2), random(9, 2, seed=3)
    positions = np.array([[0, 1, 2, 3, 4], [8, 2, 0, 1, 7]])
    made = node(
        "RotaryEmbedding", "x c s p", num_heads=2, rotary_embedding_dim=4, interleaved=interleaved
    )
    tables = {"c": cos, "s": sin}
    expected = flat(turn(heads(x, 2), cos[positions], sin[positions], interleaved))
    y, found = run(library, tmp_path, made, {"x": x, "p": positions}, tables)
    np.testing.assert_allclose(y, expected, atol=1e-5)
    assert found.count("spirloom.rotary_embedding") == 1
    y, found = run(library, tmp_path, made, {"x": x}, {**tables, "p": positions})
    np.testing.assert_allclose(y, expected, atol=1e-5)
    assert "aten.embedding" not in found


def test_rotary_embedding_by_angles_of_each_position(library: OpLibrary, tmp_path: Path) -> None:
    x, cos, sin = random(1, 3, 5, 8, seed=1), random(1, 5, 4, seed=2), random(1, 5, 4, seed=3)
    made = node("RotaryEmbedding", "x c s")
    y, found = run(library, tmp_path, made, {"x": x, "c": cos, "s": sin})
    np.testing.assert_allclose(y, turn(x, cos, sin), atol=1e-5)
    assert "aten.permute" not in found


@pytest.mark.parametrize("scale", [(6,), (4, 6), (1,)])
def test_rms_normalization(library: OpLibrary, tmp_path: Path, scale: tuple[int, ...]) -> None:
    x, w = random(3, 4, 6, seed=1), random(*scale, seed=2)
    axis = -len(scale)
    made = node("RMSNormalization", "x w", axis=axis, epsilon=0.1)
    y, _ = run(library, tmp_path, made, {"x": x}, {"w": w})
    mean = (x * x).mean(axis=tuple(range(3 + axis, 3)), keepdims=True)
    np.testing.assert_allclose(y, x / np.sqrt(mean + 0.1) * w, atol=1e-5)


@pytest.mark.parametrize("domain", ["", "com.microsoft"])
def test_simplified_layer_normalization(library: OpLibrary, tmp_path: Path, domain: str) -> None:
    x, w = random(3, 6, seed=1), random(6, seed=2)
    made = node("SimplifiedLayerNormalization", "x w", domain=domain, epsilon=1e-6)
    y, found = run(library, tmp_path, made, {"x": x}, {"w": w})
    assert found == ["aten.rms_norm"]
    mean = (x * x).mean(-1, keepdims=True)
    np.testing.assert_allclose(y, x / np.sqrt(mean + 1e-6) * w, atol=1e-5)


@pytest.mark.parametrize("simple", [False, True])
def test_skip_layer_normalization(library: OpLibrary, tmp_path: Path, simple: bool) -> None:
    x, skip = random(2, 3, 6, seed=1), random(2, 3, 6, seed=2)
    gamma, beta, bias = (random(6, seed=s) for s in (3, 4, 5))
    if simple:
        made = fused("SkipSimplifiedLayerNormalization", "x k g b", "y a c total", epsilon=1e-3)
    else:
        made = fused("SkipLayerNormalization", "x k g e b", "y a c total", epsilon=1e-3)
    inputs, constants = {"x": x, "k": skip}, {"g": gamma, "e": beta, "b": bias}
    total = x + skip + bias
    off = total if simple else total - total.mean(-1, keepdims=True)
    expected = off / np.sqrt((off * off).mean(-1, keepdims=True) + 1e-3) * gamma
    y, _ = run(library, tmp_path, made, inputs, constants)
    np.testing.assert_allclose(y, expected if simple else expected + beta, atol=1e-5)
    y, _ = run(library, tmp_path, made, inputs, constants, output="total")
    np.testing.assert_allclose(y, total, atol=1e-6)


def test_fused_matmul(library: OpLibrary, tmp_path: Path) -> None:
    a, b = random(3, 4, 2, 5, seed=1), random(3, 4, 6, 2, seed=2)
    made = fused("FusedMatMul", "a b", alpha=0.5, transA=1, transB=1)
    y, _ = run(library, tmp_path, made, {"a": a, "b": b})
    np.testing.assert_allclose(y, 0.5 * a.swapaxes(2, 3) @ b.swapaxes(2, 3), atol=1e-5)
    # [4, 2, 3, 5]: the batch dimensions follow the first dimension.
    made = fused("FusedMatMul", "a b", transBatchA=1)
    b = random(4, 2, 5, 3, seed=3)
    y, _ = run(library, tmp_path, made, {"a": a, "b": b})
    np.testing.assert_allclose(y, a.transpose(1, 2, 0, 3) @ b, atol=1e-5)


def test_gelus(library: OpLibrary, tmp_path: Path) -> None:
    x, bias = random(3, 4, seed=1), random(4, seed=2)
    cubic = 0.5 * (x + bias) * (1 + np.tanh(0.79788456 * (x + bias + 0.044715 * (x + bias) ** 3)))
    for op in ("BiasGelu", "FastGelu"):
        y, _ = run(library, tmp_path, fused(op, "x b"), {"x": x, "b": bias})
        np.testing.assert_allclose(y, cubic, atol=1e-6 if op == "FastGelu" else 2e-3)
    y, found = run(library, tmp_path, fused("Gelu", "x"), {"x": x})
    assert found == ["aten.gelu"]
    y, _ = run(library, tmp_path, fused("QuickGelu", "x", alpha=1.5), {"x": x})
    np.testing.assert_allclose(y, x / (1 + np.exp(-1.5 * x)), atol=1e-6)


def test_multi_head_attention(library: OpLibrary, tmp_path: Path) -> None:
    q, k, v = random(2, 5, 8, seed=1), random(2, 7, 8, seed=2), random(2, 7, 12, seed=3)
    bias = random(28, seed=4)
    padding = np.array([[1] * 7, [1, 1, 1, 1, 0, 0, 0]], dtype=np.int32)
    made = fused("MultiHeadAttention", "q k v b p", num_heads=2)
    y, _ = run(library, tmp_path, made, {"q": q, "k": k, "v": v, "p": padding}, {"b": bias})
    parts = heads(q + bias[:8], 2), heads(k + bias[8:16], 2), heads(v + bias[16:], 2)
    hidden = np.where(padding, 0, -10000.0)[:, None, None]
    np.testing.assert_allclose(y, flat(attend(*parts, hidden)), atol=1e-5)


@pytest.mark.parametrize("packed", [False, True])
def test_group_query_attention_of_a_prompt(
    library: OpLibrary, tmp_path: Path, packed: bool
) -> None:
    q, k, v = random(2, 5, 16, seed=1), random(2, 5, 8, seed=2), random(2, 5, 8, seed=3)
    cos, sin = random(9, 2, seed=4), random(9, 2, seed=5)
    made = fused(
        "GroupQueryAttention",
        "q - - - - n t c s" if packed else "q k v - - n t c s",
        "y yk yv",
        num_heads=4,
        kv_num_heads=2,
        do_rotary=1,
    )
    given = {"q": np.concatenate([q, k, v], 2)} if packed else {"q": q, "k": k, "v": v}
    counts = {"n": np.array([4, 4], np.int32), "t": np.array(5, np.int32), "c": cos, "s": sin}
    y, found = run(library, tmp_path, made, given, counts)
    angles = cos[None, :5], sin[None, :5]
    rotated = turn(heads(q, 4), *angles), turn(heads(k, 2), *angles), heads(v, 2)
    np.testing.assert_allclose(y, flat(attend(*rotated, causal(5, 5))), atol=1e-5)
    assert found.count("spirloom.strided_attention") == 1
    present, _ = run(library, tmp_path, made, given, counts, output="yk")
    np.testing.assert_allclose(present, rotated[1], atol=1e-5)


def test_unsupported_options_of_fused_operators(library: OpLibrary, tmp_path: Path) -> None:
    q, past = random(1, 1, 8), random(1, 2, 3, 4)
    made = fused("GroupQueryAttention", "q q q p p n t", num_heads=2, kv_num_heads=2)
    counts = {"n": np.array([3], np.int32), "t": np.array(4, np.int32)}
    with pytest.raises(ImportFailure, match="Import the model with a past length of 0"):
        run(library, tmp_path, made, {"q": q, "p": past}, counts)
    with pytest.raises(ImportFailure, match="no converter for this operator of ONNX Runtime"):
        run(library, tmp_path, fused("MatMulBnb4", "q"), {"q": q})
