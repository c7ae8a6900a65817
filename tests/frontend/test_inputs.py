"""Model inputs: symbolic dimensions, element types, complete shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto
from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType, Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary

from tests.frontend.models import Shape, imported, model, node


def relu(library: OpLibrary, folder: Path, shape: Shape, shapes: Shapes) -> Graph:
    return imported(model([node("Relu", "x")], {"x": shape}), library, folder, shapes)


def test_named_dimension_is_set(library: OpLibrary, tmp_path: Path) -> None:
    graph = relu(library, tmp_path, ("batch", 3), Shapes(dims={"batch": 5}))
    assert graph.inputs[0].shape == graph.outputs[0].shape == (5, 3)


def test_shape_is_set(library: OpLibrary, tmp_path: Path) -> None:
    graph = relu(library, tmp_path, ("batch", 3), Shapes(inputs={"x": (5, 4)}))
    assert graph.inputs[0].shape == (5, 4)


@pytest.mark.parametrize(
    ("shape", "shapes", "message"),
    [
        (("n", "m"), Shapes(), "leaves input dimensions open. Set them with --dim n=N --dim m=N."),
        ((None, 3), Shapes(), "Set them with --dim x.0=N. MIN..MAX instead of N"),
        (("?", -1), Shapes(), "Set them with --dim x.0=N --dim x.1=N."),
        (("n", "m"), Shapes(), "fixed sizes: dims={'n': N, 'm': N}."),
        (None, Shapes(), "Set them with --shape x=N,N,…"),
        (None, Shapes(), "fixed sizes: shapes={'x': (N, N, …)}."),
        (
            ("n", 3),
            Shapes(dims={"n": 2}, inputs={"x": (2, 3)}),
            "--dim n has no effect: --shape sets all dimensions of its inputs.",
        ),
        ((2, 3), Shapes(dims={"n": 1}), "--dim names no dimension of an input: n. The named"),
        ((2, 3), Shapes(inputs={"z": (1,)}), "--shape names no input: z. The inputs are: x."),
        ((2, 3), Shapes(inputs={"x": (1,)}), "--shape x has 1 dimensions; the input has 2."),
        ((1,) * 9, Shapes(), "Input 'x' has the impossible shape"),
        (("n",), Shapes(dims={"n": 1 << 40}), "Input 'x' has the impossible shape"),
    ],
)
def test_bad_shapes(
    library: OpLibrary, tmp_path: Path, shape: Shape, shapes: Shapes, message: str
) -> None:
    with pytest.raises(ImportFailure) as error:
        relu(library, tmp_path, shape, shapes)
    assert message in str(error.value)


def test_unsupported_input_types(library: OpLibrary, tmp_path: Path) -> None:
    for dtype, name, python in (
        (TensorProto.DOUBLE, "DOUBLE", "float64_as_float32=True"),
        (TensorProto.INT64, "INT64", "ranges=, assume_int32=True, fixed="),
    ):
        made = model([node("Abs", "x")], {"x": (2,)}, dtype=dtype)
        with pytest.raises(
            ImportFailure, match=f"'x' has element type {name}.*cannot be narrowed.*{python}"
        ):
            imported(made, library, tmp_path)


def test_wide_indices_are_narrowed(library: OpLibrary, tmp_path: Path) -> None:
    table = np.ones((4, 3), np.float32)
    made = model([node("Gather", "t x")], {"x": (2, 2)}, {"t": table}, dtype=TensorProto.INT64)
    graph = imported(made, library, tmp_path)
    assert graph.inputs[0].dtype is DType.I32
    assert graph.outputs[0].shape == (2, 2, 3)


def test_the_shape_of_wide_indices(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [node("Gather", "t x", "g"), node("Shape", "x", "s"), node("Expand", "g s")]
    table = np.ones(4, np.float32)
    made = model(nodes, {"x": (2, 2)}, {"t": table}, dtype=TensorProto.INT64)
    assert imported(made, library, tmp_path).inputs[0].dtype is DType.I32


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (np.array([1 << 31]), "its int64 constant 2147483648 is not representable in int32"),
        (np.array([0.1]), "its float64 constant 0.1 is not representable in float32"),
    ],
)
def test_constants_that_are_not_representable(
    library: OpLibrary, tmp_path: Path, value: Array, reason: str
) -> None:
    made = model([node("Add", "x c")], {"x": (1,)}, {"c": value})
    with pytest.raises(ImportFailure) as error:
        imported(made, library, tmp_path)
    assert reason in str(error.value)


def test_representable_constants_are_narrowed(library: OpLibrary, tmp_path: Path) -> None:
    values = np.array([0.5, np.inf, np.nan])
    graph = imported(model([node("Add", "x c")], {"x": (1,)}, {"c": values}), library, tmp_path)
    (narrow,) = (t.data for t in graph.tensors() if t.data is not None)
    assert narrow.dtype == np.float32
    np.testing.assert_array_equal(narrow, values.astype(np.float32))


def test_outputs_that_are_inputs_are_copied(library: OpLibrary, tmp_path: Path) -> None:
    graph = imported(model([node("Identity", "x")], {"x": (2,)}), library, tmp_path)
    assert [n.op for n in graph.nodes] == ["aten._to_copy"]
    assert (graph.inputs[0].name, graph.outputs[0].name) == ("x", "y")


def test_unused_outputs_are_ignored(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [node("Dropout", "x", "a mask"), node("Relu", "a")]
    graph = imported(model(nodes, {"x": (2,)}), library, tmp_path)
    assert [n.op for n in graph.nodes] == ["aten.relu"]

    constants = {name: np.ones(2, np.float32) for name in "sbmv"}
    nodes = [node("BatchNormalization", "x s b m v", "a mean v2 m3 v4")]
    nodes += [node("Add", "a mean")]
    with pytest.raises(ImportFailure, match="its output 'mean' is not supported"):
        imported(model(nodes, {"x": (1, 2)}, constants), library, tmp_path)


def test_constant_inputs(library: OpLibrary, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    made = model([node("Expand", "x shape")], {"x": (1, 2), "shape": (2,)})
    made.graph.input[1].type.tensor_type.elem_type = TensorProto.INT64
    path.write_bytes(made.SerializeToString())
    graph = import_model(path, library, Shapes(), {"shape": np.array([3, 2], np.int32)})
    assert [t.name for t in graph.inputs] == ["x"]
    assert graph.outputs[0].shape == (3, 2)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("z", np.ones(2), "--constant-input names no input: z. The inputs are: x, shape."),
        ("shape", np.array([1, 2.5]), "has elements that the input's type, int64, cannot"),
        ("shape", np.ones(3), r"has the shape \[3\]; the input has \[2\]"),
    ],
)
def test_constant_inputs_are_checked(
    library: OpLibrary, tmp_path: Path, name: str, value: Array, message: str
) -> None:
    path = tmp_path / "model.onnx"
    made = model([node("Expand", "x shape")], {"x": (1, 2), "shape": (2,)})
    made.graph.input[1].type.tensor_type.elem_type = TensorProto.INT64
    path.write_bytes(made.SerializeToString())
    with pytest.raises(ImportFailure, match=message):
        import_model(path, library, Shapes(), {name: value})


def test_two_outputs_with_one_value(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [node("Relu", "x", "a"), node("Identity", "a", "b")]
    graph = imported(model(nodes, {"x": (2,)}, outputs=("a", "b")), library, tmp_path)
    assert [t.name for t in graph.outputs] == ["a", "b"]
    assert [n.op for n in graph.nodes] == ["aten.relu", "aten._to_copy"]
