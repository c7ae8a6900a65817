"""Layers between dequantize and quantize run on integers: ONNX's cases and patterns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto
from spirloom.ir import Array, Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize

from tests.frontend.models import compute, imported, model, node, ops, random
from tests.onnx_suite.suite import SuiteCase

SUITE = Path("/usr/share/libonnx-testdata/data/node")
# ONNX's cases, and the operator that computes each if everything except the activations is
# constant.
CASES = {
    "test_qlinearconv": "spirloom.convolution_i8",
    "test_qlinearmatmul_2D": "spirloom.linear_i8",
    "test_convinteger_with_padding": "spirloom.convolution_i8",
    "test_convinteger_without_padding": "spirloom.convolution_i8",
    "test_matmulinteger": "spirloom.linear_i8",
}


@pytest.mark.parametrize("name", CASES)
def test_cases_of_onnx(library: OpLibrary, name: str) -> None:
    case = SuiteCase("node", name, SUITE / name)
    (data,) = case.data_sets()
    names = [info.name for info in case.inputs]
    activations = 0
    fixed = {n: v for i, (n, v) in enumerate(zip(names, data.inputs, strict=True))
             if i != activations}  # fmt: skip
    graph = import_model(case.path, library, Shapes(), fixed)
    optimize(graph, library)
    assert CASES[name] in ops(graph)
    assert not {"aten.convolution", "aten.linear", "spirloom.dequantize"} & {*ops(graph)}
    np.testing.assert_array_equal(compute(graph, data.inputs[activations]), data.outputs[0])


def integers(*shape: int, seed: int, kind: type) -> Array:
    ends: Any = np.iinfo(kind)
    drawn = np.random.default_rng(seed).integers(ends.min, ends.max, shape, endpoint=True)
    return np.asarray(drawn, kind)


def scaling(name: str, scale: float | Array, zero: int | Array, kind: type) -> dict[str, Array]:
    return {f"{name}s": np.asarray(scale, np.float32), f"{name}z": np.asarray(zero, kind)}


def quantize(x: str, y: str, by: str) -> NodeProto:
    return node("QuantizeLinear", f"{x} {by}s {by}z", y)


def dequantize(x: str, y: str, by: str, **axis: int) -> NodeProto:
    return node("DequantizeLinear", f"{x} {by}s {by}z", y, **axis)


def by_steps(graph: Graph, made: Graph, x: Array) -> None:
    """Both results are equal, except where a float sum may be half-way between two integers."""
    one, two = compute(graph, x).astype(float), compute(made, x).astype(float)
    assert np.abs(one - two).max() <= 1 and (one != two).mean() < 0.01


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("finish", ["Relu", "Clip", None])
def test_a_residual_block(
    library: OpLibrary, tmp_path: Path, kind: type, finish: str | None
) -> None:
    """Two convolutions, one of them depthwise, and the sum with their input."""
    end: dict[str | None, list[NodeProto]] = {
        "Relu": [node("Relu", "c", "r")],
        "Clip": [node("Clip", "c low high", "r")],
        None: [],
    }
    last = "c" if finish is None else "r"
    nodes = [
        quantize("x", "xq", "x"), dequantize("xq", "xf", "x"),
        dequantize("w", "wf", "w", axis=0), dequantize("v", "vf", "v", axis=0),
        node("Conv", "xf wf b", "c", pads=[1, 1, 1, 1]), *end[finish],
        quantize(last, "cq", "c"), dequantize("cq", "cf", "c"),
        node("Conv", "cf vf", "d", group=6, pads=[1, 1, 1, 1]),
        quantize("d", "dq", "d"), dequantize("dq", "df", "d"),
        node("Add", "df xf", "e"), quantize("e", "y", "e"),
    ]  # fmt: skip
    middle = 0 if kind is np.int8 else 128
    constants = {
        "w": integers(6, 6, 3, 3, seed=1, kind=np.int8),
        "v": integers(6, 1, 3, 3, seed=2, kind=kind),
        "b": random(6), "low": np.array(0, np.float32), "high": np.array(3, np.float32),
        **scaling("x", 0.03, middle - 9, kind), **scaling("c", 0.02, middle - 100, kind),
        **scaling("w", np.linspace(0.001, 0.002, 6), np.zeros(6), np.int8),
        **scaling("v", 0.004, middle + 3, kind),
        **scaling("d", 0.05, middle + 7, kind), **scaling("e", 0.0617, middle, kind),
    }  # fmt: skip
    made = model(nodes, {"x": (2, 6, 9, 7)}, constants)
    made.graph.output[0].type.tensor_type.elem_type = (
        TensorProto.INT8 if kind is np.int8 else TensorProto.UINT8
    )
    graph = imported(made, library, tmp_path)
    border = [] if kind is np.int8 else ["aten._to_copy", "aten.bitwise_xor.Tensor"]
    assert ops(graph) == ["spirloom.quantize", *["spirloom.convolution_i8"] * 2,
                          "spirloom.add_i8", *border]  # fmt: skip
    by_steps(graph, imported(made, library, tmp_path, optimized=False), random(2, 6, 9, 7, seed=3))


def test_data_movement_and_rescaling_of_integers(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        quantize("x", "xq", "x"), dequantize("xq", "xf", "x"),
        node("Reshape", "xf size", "r"), quantize("r", "rq", "x"), dequantize("rq", "rf", "x"),
        node("Relu", "rf", "s"), quantize("s", "sq", "s"), dequantize("sq", "sf", "s"),
        dequantize("w", "wf", "w", axis=1), node("MatMul", "sf wf", "y"),
    ]  # fmt: skip
    constants = {
        "size": np.array([2, 12], np.int64), "w": integers(12, 5, seed=1, kind=np.int8),
        **scaling("x", 0.03, 0, np.int8), **scaling("s", 0.02, -128, np.int8),
        **scaling("w", np.linspace(0.01, 0.02, 5), np.zeros(5), np.int8),
    }  # fmt: skip
    made = model(nodes, {"x": (2, 3, 4)}, constants)
    graph = imported(made, library, tmp_path)
    assert ops(graph) == ["spirloom.quantize", "aten.view", "spirloom.rescale_i8",
                          "spirloom.linear_i8"]  # fmt: skip
    x = random(2, 3, 4)
    stepwise = compute(imported(made, library, tmp_path, optimized=False), x)
    np.testing.assert_allclose(compute(graph, x), stepwise, rtol=1e-5, atol=1e-5)


def test_values_with_float_and_integer_readers(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        quantize("x", "xq", "x"), dequantize("xq", "xf", "x"), dequantize("w", "wf", "w", axis=1),
        node("MatMul", "xf wf", "c"), node("Relu", "c", "r"), quantize("r", "rq", "x"),
        dequantize("rq", "rf", "x"), node("Mul", "r rf", "y"),
    ]  # fmt: skip
    constants = {
        "w": integers(12, 5, seed=1, kind=np.int8), **scaling("x", 0.03, 0, np.int8),
        **scaling("w", 0.01, 0, np.int8),
    }  # fmt: skip
    made = model(nodes, {"x": (2, 12)}, constants)
    graph = imported(made, library, tmp_path)
    assert ops(graph).count("spirloom.linear_i8") == 1
    x = random(2, 12)
    stepwise = compute(imported(made, library, tmp_path, optimized=False), x)
    np.testing.assert_allclose(compute(graph, x), stepwise, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("op", ["MaxPool", "Concat"])
def test_max_pool_and_concat_of_integers(
    library: OpLibrary, tmp_path: Path, kind: type, op: str
) -> None:
    middle = 0 if kind is np.int8 else 128
    between = (node("MaxPool", "xf", "p", kernel_shape=[2, 2]) if op == "MaxPool"
               else node("Concat", "xf xf", "p", axis=1))  # fmt: skip
    nodes = [quantize("x", "xq", "x"), dequantize("xq", "xf", "x"), between,
             quantize("p", "pq", "x"), dequantize("pq", "y", "x")]  # fmt: skip
    made = model(nodes, {"x": (1, 3, 5, 5)}, scaling("x", 0.03, middle, kind))
    graph = imported(made, library, tmp_path)
    around = ops(graph)
    assert (around[0], around[-1]) == ("spirloom.quantize", "spirloom.dequantize")
    assert all(library.supports(n.op, n.args) for n in graph.nodes)
    x = random(1, 3, 5, 5)
    stepwise = compute(imported(made, library, tmp_path, optimized=False), x)
    np.testing.assert_array_equal(compute(graph, x), stepwise)


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("shape", [(2, 4, 9), (2, 4, 5, 6), (1, 4, 3, 4, 3)])
@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_convolutions_of_any_dims(
    library: OpLibrary, tmp_path: Path, op: str, shape: tuple[int, ...], kind: type
) -> None:
    """A scale per output channel, groups, and asymmetric padding."""
    dims, transposed = len(shape) - 2, op == "ConvTranspose"
    attributes = {"strides": [2] * dims, "group": 2, "pads": [1] * dims + [0] * dims}
    extra = {"output_padding": [1] * dims} if transposed else {}
    nodes = [
        quantize("x", "xq", "x"), dequantize("xq", "xf", "x"),
        dequantize("w", "wf", "w", axis=1 if transposed else 0),
        node(op, "xf wf b", "c", **attributes, **extra), node("Relu", "c", "r"),
        quantize("r", "yq", "y"), dequantize("yq", "y", "y"),
    ]  # fmt: skip
    middle = 0 if kind is np.int8 else 128
    of_scales = 3 if transposed else 6
    weight = (4, 3) if transposed else (6, 2)
    constants = {
        "w": integers(*weight, *[3] * dims, seed=1, kind=np.int8), "b": random(6),
        **scaling("x", 0.03, middle - 9, kind), **scaling("y", 0.02, middle - 100, kind),
        **scaling("w", np.linspace(0.001, 0.002, of_scales), np.zeros(of_scales), np.int8),
    }  # fmt: skip
    made = model(nodes, {"x": shape}, constants)
    graph = imported(made, library, tmp_path)
    assert ops(graph).count("spirloom.convolution_i8") == 1
    assert not {"aten.relu", "spirloom.dequantize"} & {*ops(graph)[:-1]}
    x, scale = random(*shape, seed=3), constants["ys"]
    one = compute(imported(made, library, tmp_path, optimized=False), x) / scale
    two = compute(graph, x) / scale
    assert np.abs(one - two).max() <= 1.01 and (np.abs(one - two) > 0.01).mean() < 0.01


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("op", ["AveragePool", "GlobalAveragePool", "ReduceMean"])
def test_means_of_integers(library: OpLibrary, tmp_path: Path, kind: type, op: str) -> None:
    options: dict[str, dict[str, Any]] = {
        "AveragePool": {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        "GlobalAveragePool": {},
        "ReduceMean": {"axes": [2, 3], "keepdims": 0},
    }
    middle = 0 if kind is np.int8 else 128
    nodes = [
        quantize("x", "xq", "x"), dequantize("xq", "xf", "x"), node(op, "xf", "m", **options[op]),
        quantize("m", "yq", "y"), dequantize("yq", "y", "y"),
    ]  # fmt: skip
    constants = {**scaling("x", 0.03, middle - 9, kind), **scaling("y", 0.011, middle + 5, kind)}
    made = model(nodes, {"x": (2, 3, 7, 9)}, constants)
    graph = imported(made, library, tmp_path)
    assert "spirloom.average_pool_i8" in ops(graph)
    assert ops(graph).count("spirloom.dequantize") == 1
    x = random(2, 3, 7, 9)
    one = compute(imported(made, library, tmp_path, optimized=False), x) / np.float32(0.011)
    two = compute(graph, x) / np.float32(0.011)
    assert np.abs(one - two).max() <= 1.01 and (np.abs(one - two) > 0.01).mean() < 0.05
