"""Operators whose signature or meaning changed between opsets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import NodeProto
from spirloom.errors import ImportFailure
from spirloom.ir import Array
from spirloom.onnx.registry import CONVERTERS
from spirloom.op_library import OpLibrary

from tests.frontend.models import compute, imported, model, node, ops, random


def ints(*values: int) -> Array:
    return np.array(values, dtype=np.int64)


def run(
    library: OpLibrary,
    folder: Path,
    made: NodeProto,
    x: Array,
    opset: int,
    constants: dict[str, Array] | None = None,
) -> Array:
    graph = imported(model([made], {"x": x.shape}, constants, opset=opset), library, folder)
    return compute(graph, x)


def softmax(x: Array, axis: int | tuple[int, ...]) -> Array:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(e / e.sum(axis=axis, keepdims=True))


def test_softmax_normalises_all_later_axes_before_opset_13(
    library: OpLibrary, tmp_path: Path
) -> None:
    x = random(2, 3, 4)
    old = run(library, tmp_path, node("Softmax", "x", axis=1), x, 11)
    new = run(library, tmp_path, node("Softmax", "x", axis=1), x, 13)
    np.testing.assert_allclose(old, softmax(x, (1, 2)), rtol=1e-6)
    np.testing.assert_allclose(new, softmax(x, 1), rtol=1e-6)


def test_softmax_has_another_default_axis_since_opset_13(
    library: OpLibrary, tmp_path: Path
) -> None:
    x = random(2, 3, 4)
    old = run(library, tmp_path, node("Softmax", "x"), x, 11)
    new = run(library, tmp_path, node("Softmax", "x"), x, 13)
    np.testing.assert_allclose(old, softmax(x, (1, 2)), rtol=1e-6)
    np.testing.assert_allclose(new, softmax(x, -1), rtol=1e-6)


def test_clip_with_attributes_and_inputs(library: OpLibrary, tmp_path: Path) -> None:
    x = random(2, 5)
    bounds = {"low": np.array(-0.5, np.float32), "high": np.array(0.25, np.float32)}
    old = run(library, tmp_path, node("Clip", "x", min=-0.5, max=0.25), x, 6 + 4)
    new = run(library, tmp_path, node("Clip", "x low high"), x, 13, bounds)
    only_high = run(library, tmp_path, node("Clip", "x - high"), x, 13, bounds)
    np.testing.assert_array_equal(old, x.clip(-0.5, 0.25))
    np.testing.assert_array_equal(new, x.clip(-0.5, 0.25))
    np.testing.assert_array_equal(only_high, np.minimum(x, 0.25))


@pytest.mark.parametrize("opset", [11, 13])
def test_squeeze_and_unsqueeze_with_attributes_and_inputs(
    library: OpLibrary, tmp_path: Path, opset: int
) -> None:
    x = random(2, 1, 3)
    if opset < 13:
        nodes = [node("Squeeze", "x", "s", axes=[1]), node("Unsqueeze", "s", axes=[0, -1])]
        made = model(nodes, {"x": x.shape}, opset=opset)
    else:
        nodes = [node("Squeeze", "x a", "s"), node("Unsqueeze", "s b")]
        constants = {"a": ints(1), "b": ints(0, -1)}
        made = model(nodes, {"x": x.shape}, constants, opset=opset)
    y = compute(imported(made, library, tmp_path), x)
    np.testing.assert_array_equal(y, x.reshape(1, 2, 3, 1))


@pytest.mark.parametrize(
    ("opset", "split", "constants"),
    [
        (11, node("Split", "x", "a y", axis=1, split=[2, 3]), {}),
        (13, node("Split", "x sizes", "a y", axis=1), {"sizes": ints(2, 3)}),
        (18, node("Split", "x", "a y", axis=1, num_outputs=2), {}),
    ],
)
def test_split_sizes(
    library: OpLibrary,
    tmp_path: Path,
    opset: int,
    split: NodeProto,
    constants: dict[str, Array],
) -> None:
    x = random(2, 5)
    y = run(library, tmp_path, split, x, opset, constants)
    np.testing.assert_array_equal(y, x[:, 3 if opset == 18 else 2 :])


def test_slice_with_attributes_and_inputs(library: OpLibrary, tmp_path: Path) -> None:
    x = random(4, 6)
    old = run(library, tmp_path, node("Slice", "x", starts=[1], ends=[99], axes=[1]), x, 9)
    bounds = {"s": ints(-1, 5), "e": ints(-99, 0), "a": ints(0, 1), "d": ints(-2, -1)}
    new = run(library, tmp_path, node("Slice", "x s e a d"), x, 13, bounds)
    np.testing.assert_array_equal(old, x[:, 1:99])
    np.testing.assert_array_equal(new, x[-1:-99:-2, 5:0:-1])


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_reduce_axes(library: OpLibrary, tmp_path: Path, opset: int) -> None:
    x = random(2, 3, 4)
    as_input = opset >= 18
    reduce = (
        node("ReduceMean", "x axes", keepdims=0)
        if as_input
        else node("ReduceMean", "x", axes=[-1, 0], keepdims=0)
    )
    constants = {"axes": ints(-1, 0)} if as_input else {}
    y = run(library, tmp_path, reduce, x, opset, constants)
    np.testing.assert_allclose(y, x.mean(axis=(0, 2)), rtol=1e-6)


def test_reduce_without_axes(library: OpLibrary, tmp_path: Path) -> None:
    x = random(2, 3)
    y = run(library, tmp_path, node("ReduceSum", "x", keepdims=0), x, 13)
    same = run(library, tmp_path, node("ReduceSum", "x", noop_with_empty_axes=1), x, 13)
    np.testing.assert_allclose(y, x.sum(), rtol=1e-6)
    np.testing.assert_array_equal(same, x)


def test_upsample_and_resize_nearest(library: OpLibrary, tmp_path: Path) -> None:
    x = random(1, 2, 3, 4)
    scales = np.array([1, 1, 2, 2], dtype=np.float32)
    twice = x.repeat(2, axis=2).repeat(2, axis=3)
    for op, inputs, opset in (("Upsample", "x s", 9), ("Resize", "x s", 10)):
        y = run(library, tmp_path, node(op, inputs, mode="nearest"), x, opset, {"s": scales})
        np.testing.assert_array_equal(y, twice)
    resize = node(
        "Resize",
        "x - s",
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    np.testing.assert_array_equal(run(library, tmp_path, resize, x, 13, {"s": scales}), twice)


def test_pad_with_attributes_and_inputs(library: OpLibrary, tmp_path: Path) -> None:
    x = random(2, 3)
    expected = np.pad(x, ((1, 0), (0, 2)), constant_values=7.0)[:, 1:]
    old = run(library, tmp_path, node("Pad", "x", pads=[1, -1, 0, 2], value=7.0), x, 9)
    constants: dict[str, Array] = {"p": ints(1, -1, 0, 2), "v": np.array(7, np.float32)}
    new = run(library, tmp_path, node("Pad", "x p v"), x, 13, constants)
    np.testing.assert_array_equal(old, expected)
    np.testing.assert_array_equal(new, expected)


def test_layer_normalization_of_opset_17(library: OpLibrary, tmp_path: Path) -> None:
    x, weight = random(2, 3, 4), random(4, seed=1)
    graph = imported(
        model([node("LayerNormalization", "x w")], {"x": x.shape}, {"w": weight}, opset=17),
        library,
        tmp_path,
    )
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * weight
    assert ops(graph) == ["aten.native_layer_norm"]
    np.testing.assert_allclose(compute(graph, x), expected, rtol=1e-5, atol=1e-6)


def test_operands_aligned_at_an_axis(library: OpLibrary, tmp_path: Path) -> None:
    x, bias = random(2, 3, 4), random(3, seed=1)
    add = node("Add", "x b", broadcast=1, axis=1)
    y = run(library, tmp_path, add, x, 6, {"b": bias})
    np.testing.assert_allclose(y, x + bias[:, None], rtol=1e-6)
    y = run(library, tmp_path, node("PRelu", "x b"), x, 6, {"b": bias})
    np.testing.assert_allclose(y, np.where(x > 0, x, x * bias[:, None]), rtol=1e-6)


def test_constants_aligned_at_an_axis(library: OpLibrary, tmp_path: Path) -> None:
    a, b = random(2, 3, 4), random(3, seed=1)
    nodes = [node("Add", "a b", "c", broadcast=1, axis=-2), node("Add", "x c")]
    graph = imported(model(nodes, {"x": a.shape}, {"a": a, "b": b}, opset=6), library, tmp_path)
    np.testing.assert_allclose(compute(graph, a), 2 * a + b[:, None], rtol=1e-6)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (node("Pad", "x", paddings=[0, 1, 0, 1]), "its version of opset 1 is not supported"),
        (node("Dropout", "x", consumed_inputs=[0]), "is_test is not set"),
    ],
)
def test_unsupported_old_versions(
    library: OpLibrary, tmp_path: Path, made: NodeProto, reason: str
) -> None:
    with pytest.raises(ImportFailure, match=reason):
        run(library, tmp_path, made, random(2, 3), 1)


@pytest.mark.parametrize("opset", [0, 27])
def test_unsupported_opsets(library: OpLibrary, tmp_path: Path, opset: int) -> None:
    made = model([node("Relu", "x")], {"x": (2,)}, opset=opset)
    with pytest.raises(ImportFailure, match=f"ONNX opset {opset}; opsets 1 to 26 are"):
        imported(made, library, tmp_path)


def test_every_converter_names_an_onnx_operator(library: OpLibrary) -> None:
    newer = {"Col2Im", "GroupNormalization", "Mish", "Gelu"}  # not in the installed ONNX
    newer |= {"Attention", "RMSNormalization", "RotaryEmbedding"}
    newer |= {"AffineGrid", "CumProd", "Swish", "TensorScatter"}
    newer |= {"BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"}
    known = {schema.name for schema in onnx.defs.get_all_schemas()}
    own = {name for name in (*CONVERTERS, *library.onnx) if not name.startswith("com.microsoft.")}
    assert own - newer <= known
