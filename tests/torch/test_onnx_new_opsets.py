"""ONNX opsets 24 to 26. The oracle is ONNX's reference implementation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import spirloom
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from spirloom.cli import main
from spirloom.ir import Array

from tests.frontend.models import random
from tests.torch.onnx_node import Arrays, model_of, run_imported

X = random(3, 4, 5)
SHAPE = {"s": np.array([5, -1])}


@pytest.mark.parametrize("opset", [24, 25, 26])
@pytest.mark.parametrize(
    ("op", "names", "constants", "attributes", "result"),
    [
        ("Cast", "x", {}, {"to": TensorProto.FLOAT16}, TensorProto.FLOAT16),
        ("Flatten", "x", {}, {}, TensorProto.FLOAT),
        ("Pad", "x p", {"p": np.array([0, 1, 0, 1, 0, 2])}, {}, TensorProto.FLOAT),
        ("Reshape", "x s", SHAPE, {}, TensorProto.FLOAT),
        ("Swish", "x", {}, {}, TensorProto.FLOAT),
        ("Swish", "x", {}, {"alpha": -0.7}, TensorProto.FLOAT),
        ("Transpose", "x", {}, {"perm": [2, 0, 1]}, TensorProto.FLOAT),
    ],
)
def test_operators(
    op: str,
    names: str,
    constants: Arrays,
    attributes: dict[str, object],
    result: int,
    opset: int,
    tmp_path: Path,
) -> None:
    model = model_of(op, names, {"x": X}, constants, attributes, result, opset)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": X})
    np.testing.assert_allclose(run_imported(model, {"x": X}, tmp_path), expected, 1e-5, 1e-6)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_cumulative_products(axis: int, exclusive: int, reverse: int, tmp_path: Path) -> None:
    attributes = {"exclusive": exclusive, "reverse": reverse}
    constants = {"a": np.array(axis)}
    model = model_of("CumProd", "x a", {"x": X}, constants, attributes, opset=26)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": X})
    np.testing.assert_allclose(run_imported(model, {"x": X}, tmp_path), expected, 1e-5, 1e-6)


@pytest.mark.parametrize("kind", [TensorProto.INT2, TensorProto.UINT2, TensorProto.INT4])
def test_constants_of_few_bits(kind: int, tmp_path: Path) -> None:
    values = [0, 1, 1, 0] if kind == TensorProto.INT2 else [0, 1, 2, 3]
    codes = helper.make_tensor("c", kind, [2, 2], values)
    scale = numpy_helper.from_array(np.array(0.5, np.float32), "s")
    nodes = [helper.make_node("DequantizeLinear", ["c", "s"], ["w"]),
             helper.make_node("Add", ["x", "w"], ["y"])]  # fmt: skip
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 2]) for n in "xy"]
    graph = helper.make_graph(nodes, "few bits", info[:1], info[1:], [codes, scale])
    opsets = [helper.make_opsetid("", 25)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=13)
    x = random(2, 2)
    found = run_imported(model, {"x": x}, tmp_path)
    np.testing.assert_allclose(found, x + 0.5 * np.array(values).reshape(2, 2), 1e-6)


Dims = list[int | str]
Q: Dims = [2, 2, "s", 8]
KEYS: Dims = [2, 2, "k", 8]
PAST: Dims = [2, 2, "p", 8]
SIZES = [(1, 1, 0), (3, 5, 2), (6, 8, 8), (5, 2, 1)]
CACHE: dict[str, Dims] = {"q": Q, "k": Q, "v": Q, "pk": PAST, "pv": PAST}
ATTENTIONS: list[tuple[str, str, dict[str, Dims], dict[str, object]]] = [
    ("causal", "q k v", {"q": Q, "k": Q, "v": Q}, {"is_causal": 1}),
    ("window", "q k v", {"q": Q, "k": KEYS, "v": KEYS},
     {"left_window_size": 1, "right_window_size": 2}),
    ("past", "q k v - pk pv", CACHE, {"is_causal": 1}),
    ("past, window", "q k v - pk pv", CACHE, {"is_causal": 1, "left_window_size": 2}),
    ("lengths", "q k v - - - n", {"q": Q, "k": KEYS, "v": KEYS, "n": [2]}, {}),
    ("lengths, causal", "q k v - - - n", {"q": Q, "k": KEYS, "v": KEYS, "n": [2]},
     {"is_causal": 1, "left_window_size": 3}),
]  # fmt: skip


def exported(
    directory: Path, node: onnx.NodeProto, shapes: dict[str, Dims], dims: list[str]
) -> onnx.ModelProto:
    """A model of one node with dynamic sizes, and its graph file."""
    inputs = [
        helper.make_tensor_value_info(n, TensorProto.INT64 if n == "n" else TensorProto.FLOAT, s)
        for n, s in shapes.items()
    ]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in node.output]
    graph = helper.make_graph([node], "dynamic", inputs, outputs)
    opsets = [helper.make_opsetid("", 25)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=11)
    onnx.save(model, directory / "m.onnx")
    flags = [f"--dim={dim}" for dim in dims]
    assert main(["import", str(directory / "m.onnx"), "-o", str(directory / "m.slg"), *flags]) == 0
    return model


@pytest.mark.parametrize(
    ("names", "shapes", "attributes"), [a[1:] for a in ATTENTIONS], ids=[a[0] for a in ATTENTIONS]
)
def test_attention_of_dynamic_sizes(
    names: str, shapes: dict[str, Dims], attributes: dict[str, object], tmp_path: Path
) -> None:
    inputs = ["" if name == "-" else name for name in names.split()]
    outputs = ["y", "key", "value"] if "pk" in inputs else ["y"]
    node = helper.make_node("Attention", inputs, outputs, **attributes)
    used = {dim for shape in shapes.values() for dim in shape}
    bounds = {"s": "1..6", "k": "1..8", "p": "0..8"}
    model = exported(
        tmp_path, node, shapes, [f"{n}={text}" for n, text in bounds.items() if n in used]
    )
    run = spirloom.load(tmp_path / "m.slg")
    for s, k, p in SIZES:
        sizes: dict[int | str, int] = {"s": s, "k": k, "p": p}
        arrays: dict[str, Array] = {
            n: random(*(sizes.get(d, d) for d in shape))  # type: ignore[arg-type]
            for n, shape in shapes.items()
            if n != "n"
        }
        if "n" in shapes:
            arrays["n"] = np.array([k, max(k - 1, 1)])
        expected = ReferenceEvaluator(model).run(None, arrays)
        np.testing.assert_allclose(run(*arrays.values())[0], expected[0], 1e-4, 1e-5)


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_tensor_scatter_of_dynamic_sizes(mode: str, tmp_path: Path) -> None:
    shapes: dict[str, Dims] = {"c": [2, 3, "k", 4], "u": [2, 3, "s", 4], "n": [2]}
    node = helper.make_node("TensorScatter", ["c", "u", "n"], ["y"], mode=mode)
    model = exported(tmp_path, node, shapes, ["k=4..9", "s=1..4"])
    run = spirloom.load(tmp_path / "m.slg")
    for k, s in ((4, 4), (9, 1), (7, 3)):
        starts = np.array([0, k - 1 if mode == "circular" else k - s])
        arrays = {"c": random(2, 3, k, 4), "u": random(2, 3, s, 4), "n": starts}
        (expected,) = ReferenceEvaluator(model).run(None, arrays)
        np.testing.assert_array_equal(run(*arrays.values())[0], expected)
