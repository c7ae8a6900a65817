"""Attention as one operator and decomposed, on the device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from spirloom.builder import Builder
from spirloom.ir import DType, Graph, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes import finish, optimize

from tests.fusion.device import Device, distance

BATCH, HEADS, QUERIES, KEYS, DEPTH = 2, 3, 37, 70, 16
TOLERANCE = {"f32": 2e-6, "f16": 1.5e-3}


def inputs(graph: Graph, keys: int, mask: bool) -> list[Tensor]:
    shapes = {
        "query": (BATCH, HEADS, QUERIES, DEPTH),
        "key": (BATCH, HEADS, keys, DEPTH),
        "value": (BATCH, HEADS, keys, DEPTH),
    }
    if mask:
        shapes["mask"] = (BATCH, HEADS, QUERIES, keys)
    graph.inputs = [Tensor(name, DType.F32, shape) for name, shape in shapes.items()]
    return graph.inputs


def one_call(library: OpLibrary, keys: int, mask: bool, causal: bool) -> Graph:
    graph = Graph([], [])
    query, key, value, *masks = inputs(graph, keys, mask)
    y = Builder(library, graph).emit(
        "aten.scaled_dot_product_attention",
        query=query, key=key, value=value, attn_mask=masks[0] if mask else None, is_causal=causal,
    )  # fmt: skip
    return named(graph, y)


def decomposed(library: OpLibrary, keys: int, mask: bool, causal: bool) -> Graph:
    """softmax(query · keyᵀ / √depth + mask) · value"""
    graph = Graph([], [])
    build = Builder(library, graph)
    build.name = "attention"
    query, key, value, *masks = inputs(graph, keys, mask)

    def matrices(x: Tensor) -> Tensor:
        return build.view(x, (BATCH * HEADS, *x.shape[2:]))

    transposed = build.permute(matrices(key), (0, 2, 1))
    scores = build.emit("aten.bmm", a=matrices(query), b=transposed)
    scores = build.mul(scores, DEPTH**-0.5)
    if mask:
        scores = build.add(scores, matrices(masks[0]))
    if causal:
        hidden = np.triu(np.full((QUERIES, keys), -np.inf, np.float32), 1)
        scores = build.add(scores, build.constant(hidden))
    weights = build.emit("aten._softmax", x=scores, dim=2)
    y = build.emit("aten.bmm", a=weights, b=matrices(value))
    return named(graph, build.view(y, (BATCH, HEADS, QUERIES, DEPTH)))


def named(graph: Graph, y: Tensor) -> Graph:
    y.name = "y"
    graph.outputs = [y]
    return graph


def attention(*given: Any, is_causal: bool) -> torch.Tensor:
    """PyTorch's attention. In 1.13 it has a private name and returns the weights."""
    functional = torch.nn.functional
    if hasattr(functional, "scaled_dot_product_attention"):
        y: torch.Tensor = functional.scaled_dot_product_attention(*given, is_causal=is_causal)
    else:
        y, _ = functional._scaled_dot_product_attention(*given, is_causal=is_causal)
    return y


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize(
    ("keys", "mask", "causal"), [(KEYS, False, False), (KEYS, True, False), (QUERIES, False, True)]
)
def test_attention(
    library: OpLibrary,
    spirloom_run: Path,
    tmp_path: Path,
    keys: int,
    mask: bool,
    causal: bool,
    dtype: str,
) -> None:
    torch.manual_seed(5)
    graphs = [make(library, keys, mask, causal) for make in (one_call, decomposed)]
    given = {tensor.name: torch.randn(tensor.shape) for tensor in graphs[0].inputs}
    if mask:  # with masked keys
        given["mask"] = torch.where(given["mask"] > 0.5, -torch.inf, given["mask"])
    expected = attention(
        given["query"], given["key"], given["value"], given.get("mask"), is_causal=causal
    )
    arrays = {name: values.numpy() for name, values in given.items()}
    device = Device(spirloom_run, tmp_path)
    for graph in graphs:
        finish(graph, library, fp16=dtype == "f16")
    for storage in ("buffer", "texture3d"):
        (fused,), (plain,) = (device.run(graph, arrays, storage) for graph in graphs)
        errors = [distance(fused, plain), *(distance(y, expected.numpy()) for y in (fused, plain))]
        message = f"{storage}: " + " ".join(f"{error:.1e}" for error in errors)
        print(message)
        assert max(errors) < TOLERANCE[dtype], message


def of_few_heads(library: OpLibrary) -> Graph:
    """Three query heads read one repeated key and value head, with a causal mask."""
    graph = Graph([], [])
    build = Builder(library, graph)
    build.name = "attention"
    query, *rest = inputs(graph, QUERIES, mask=False)
    graph.inputs = [query, *(Tensor(t.name, t.dtype, (BATCH, 1, QUERIES, DEPTH)) for t in rest)]
    key, value = (
        build.emit("aten.expand", x=t, size=(BATCH, HEADS, QUERIES, DEPTH))
        for t in graph.inputs[1:]
    )
    mask = build.constant(np.triu(np.full((QUERIES, QUERIES), -np.inf, np.float32), 1))
    y = build.emit(
        "aten.scaled_dot_product_attention", query=query, key=key, value=value, attn_mask=mask
    )
    return named(graph, y)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_simplified_attention(
    library: OpLibrary, spirloom_run: Path, tmp_path: Path, dtype: str
) -> None:
    plain, simple = of_few_heads(library), of_few_heads(library)
    skipped = "stride-attention"  # would also read one head for all
    optimize(plain, library, fp16=dtype == "f16", skip=["simplify-attention", skipped])
    optimize(simple, library, fp16=dtype == "f16", skip=[skipped])
    assert {node.op for node in plain.nodes} - {node.op for node in simple.nodes} == {"aten.expand"}
    torch.manual_seed(5)
    given = {tensor.name: torch.randn(tensor.shape) for tensor in simple.inputs}
    expanded = (given[n].expand(-1, HEADS, -1, -1) for n in ("key", "value"))
    expected = attention(given["query"], *expanded, is_causal=True)
    arrays = {name: values.numpy() for name, values in given.items()}
    device = Device(spirloom_run, tmp_path)
    for graph in (plain, simple):
        (result,) = device.run(graph, arrays, "buffer")
        assert distance(result, expected.numpy()) < TOLERANCE[dtype]
