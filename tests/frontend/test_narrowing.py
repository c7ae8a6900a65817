"""64-bit values: narrowed where bounds prove it exact, otherwise refused with a remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper
from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType, Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary

from spec_model.interval import Interval
from tests.frontend import reference_run
from tests.frontend.models import node

INT64, INT32, FLOAT = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT
TABLE = np.arange(20, dtype=np.float32).reshape(10, 2)


def model(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, int],
    constants: Mapping[str, Array] | None = None,
    output: int = INT64,
) -> onnx.ModelProto:
    """A model with inputs of six elements with these types, and an output y."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(n, t, (2, 3)) for n, t in inputs.items()],
        [helper.make_tensor_value_info("y", output, None)],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)])
    made.ir_version = 8
    return made


def imported(
    made: onnx.ModelProto,
    library: OpLibrary,
    folder: Path,
    rounded: bool = False,
    **ranges: Interval,
) -> Graph:
    path = folder / "m.onnx"
    path.write_bytes(made.SerializeToString())
    return import_model(path, library, Shapes(ranges=ranges), float64_as_float32=rounded)


def message(made: onnx.ModelProto, library: OpLibrary, folder: Path, **ranges: Interval) -> str:
    with pytest.raises(ImportFailure) as error:
        imported(made, library, folder, rounded=False, **ranges)
    return str(error.value)


def const(*values: Any, dtype: Any = np.int64) -> Array:
    return np.array(values, dtype)


# Nodes that compute y from x in 0..9, constants, and whether y is exact in 32 bits.
CHAINS: dict[str, tuple[list[NodeProto], dict[str, Array], bool]] = {
    "add": ([node("Add", "x c")], {"c": const(1 << 30)}, True),
    "add_far": ([node("Add", "x c")], {"c": const((1 << 31) - 9)}, False),
    "sub": ([node("Sub", "x c")], {"c": const((1 << 31) - 1)}, True),
    "sub_far": ([node("Sub", "c x")], {"c": const(-(1 << 31))}, False),
    "mul": ([node("Mul", "x c")], {"c": const(1 << 27)}, True),
    "mul_far": ([node("Mul", "x c")], {"c": const(1 << 28)}, False),
    "mul_chain": (
        [node("Mul", "x x", "a"), node("Mul", "a a", "b"), node("Mul", "b x", "d"),
         node("Mul", "d d", "y")],
        {}, False,
    ),
    "clip": (
        [node("Mul", "x c", "a"), node("Clip", "a - d")],
        {"c": const(1 << 20), "d": const(5).reshape(())}, True,
    ),
    "div": ([node("Div", "x c")], {"c": const(3)}, True),
    "mod": ([node("Mod", "x c")], {"c": const(-4)}, True),
    "neg": ([node("Neg", "x")], {}, True),
    "where": ([node("Less", "x c", "a"), node("Where", "a x c")], {"c": const(7)}, True),
    "min": ([node("Mul", "x c", "a"), node("Min", "a x")], {"c": const(1 << 27)}, True),
    "pow": ([node("Pow", "x c")], {"c": const(9)}, True),
    "pow_far": ([node("Pow", "x c")], {"c": const(10)}, False),
    "sum": ([node("ReduceSum", "x", keepdims=0)], {}, True),
    "cumsum": ([node("CumSum", "x c")], {"c": const(1).reshape(())}, True),
    "argmax": ([node("ArgMax", "x", "a"), node("Mul", "a c")], {"c": const(1 << 30)}, True),
    "top_k": ([node("TopK", "x c", "a y")], {"c": const(2)}, True),
    "concat": ([node("Concat", "x x", "a", axis=0), node("Add", "a c")], {"c": const(5)}, True),
    "cast": (
        [node("Cast", "x", "a", to=INT32), node("Cast", "a", "b", to=INT64), node("Add", "b c")],
        {"c": const(1 << 30)}, True,
    ),
    "floats": (
        [node("Cast", "x", "a", to=FLOAT), node("Sqrt", "a", "b"), node("Clip", "b l h", "d"),
         node("Cast", "d", "y", to=INT64)],
        {"l": np.array(0, np.float32), "h": np.array(2.5, np.float32)}, True,
    ),
    "free_floats": (
        [node("Cast", "x", "a", to=FLOAT), node("Sqrt", "a", "b"), node("Cast", "b", to=INT64)],
        {}, False,
    ),
    "gemm": (
        [node("Gemm", "x c d", alpha=2.0, beta=-1.0)],
        {"c": np.full((3, 2), 1 << 24), "d": const(1 << 30, 5)}, True,
    ),
    "gemm_far": ([node("Gemm", "x c", alpha=2.0)], {"c": np.full((3, 2), 1 << 26)}, False),
    "unknown": ([node("ReduceProd", "x")], {}, False),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINS)
def test_exact_narrowing(name: str, library: OpLibrary, tmp_path: Path) -> None:
    nodes, constants, exact = CHAINS[name]
    made = model(nodes, {"x": INT64}, constants)
    if not exact:
        text = message(made, library, tmp_path, x=Interval(0, 9))
        assert "'y' is int64 and" in text or "'d' is int64 and" in text
        assert "--range NAME=LOW..HIGH" in text
        return
    graph = imported(made, library, tmp_path, x=Interval(0, 9))
    x = np.array([[0, 9, 3], [1, 4, 9]])
    (y,) = reference_run.run(graph, {"x": x.astype(np.int32)}).values()
    fixed = import_model(tmp_path / "m.onnx", library, Shapes(), {"x": x})
    (expected,) = reference_run.run(fixed, {}).values()
    np.testing.assert_array_equal(y, expected)


def test_bounds_are_stored_in_the_graph(library: OpLibrary, tmp_path: Path) -> None:
    made = model([node("Add", "x x")], {"x": INT64})
    graph = imported(made, library, tmp_path, x=Interval(-5, 5))
    assert graph.inputs[0].dtype is DType.I32
    assert graph.inputs[0].bounds == Interval(-5, 5)


@pytest.mark.parametrize(
    ("nodes", "bounds"),
    [
        ([node("Gather", "t x")], Interval(-10, 9)),
        ([node("Gather", "t x", axis=1)], Interval(-2, 1)),
        ([node("Unsqueeze", "x a", "b"), node("Gather", "t b")], Interval(-10, 9)),
        ([node("Gather", "t x"), node("Gather", "t x", "z", axis=1)], Interval(-2, 1)),
        ([node("Gather", "t x"), node("Mul", "x x", "z")], Interval(-10, 9)),
        ([node("GatherND", "t x", batch_dims=0), node("Cast", "x", "z", to=FLOAT)], None),
        ([node("Cast", "x", "z", to=INT32), node("Cast", "x", to=FLOAT)], None),
    ],
)
def test_bounds_of_indices(
    nodes: list[NodeProto], bounds: Interval | None, library: OpLibrary, tmp_path: Path
) -> None:
    constants = {"t": TABLE, "a": const(0)}
    if any(n.op_type == "GatherND" for n in nodes):
        constants["t"] = np.zeros((2, 2, 2), np.float32)
    graph = imported(model(nodes, {"x": INT64}, constants, FLOAT), library, tmp_path)
    assert graph.inputs[0].dtype is DType.I32
    assert graph.inputs[0].bounds == bounds


def test_indices_through_views_and_casts(library: OpLibrary, tmp_path: Path) -> None:
    names = ["x", *(f"n{i}" for i in range(1200))]
    chain = [node("Identity", a, b) for a, b in pairwise(names)]
    made = model([*chain, node("Gather", f"t {names[-1]}")], {"x": INT64}, {"t": TABLE}, FLOAT)
    assert imported(made, library, tmp_path).inputs[0].bounds == Interval(-10, 9)


def test_unbounded_inputs(library: OpLibrary, tmp_path: Path) -> None:
    text = message(model([node("Abs", "x")], {"x": INT64}), library, tmp_path)
    assert "Input 'x' has element type INT64" in text
    assert "--range x=LOW..HIGH" in text


def test_a_range_must_fit(library: OpLibrary, tmp_path: Path) -> None:
    made = model([node("Abs", "x")], {"x": INT64})
    text = message(made, library, tmp_path, x=Interval(0, 1 << 31))
    assert "INT64; --range must be within -2147483648..2147483647, not 0..2147483648" in text
    text = message(made, library, tmp_path, z=Interval(0, 1))
    assert "--range names no input: z. The inputs are: x." in text


def test_int32_wraps_and_is_not_watched(library: OpLibrary, tmp_path: Path) -> None:
    made = model([node("Mul", "x x")], {"x": INT32}, output=INT32)
    assert imported(made, library, tmp_path).outputs[0].dtype is DType.I32


def test_small_types_need_no_range(library: OpLibrary, tmp_path: Path) -> None:
    made = model([node("Max", "x c")], {"x": TensorProto.UINT16}, {"c": const(3, dtype=np.uint16)})
    graph = imported(made, library, tmp_path)
    assert graph.inputs[0].bounds == Interval(0, 65535)


def test_float64_is_supported_if_only_rounded(library: OpLibrary, tmp_path: Path) -> None:
    double = TensorProto.DOUBLE
    made = model([node("Cast", "x", to=FLOAT)], {"x": double}, output=FLOAT)
    assert imported(made, library, tmp_path).inputs[0].dtype is DType.F32
    made = model([node("Cast", "x", to=double)], {"x": FLOAT}, output=double)
    assert imported(made, library, tmp_path).outputs[0].dtype is DType.F32
    made = model([node("Exp", "x")], {"x": double}, output=double)
    assert "--float64-as-float32" in message(made, library, tmp_path)
    assert imported(made, library, tmp_path, rounded=True).inputs[0].dtype is DType.F32


def test_float64_of_small_integers_is_exact(library: OpLibrary, tmp_path: Path) -> None:
    double = TensorProto.DOUBLE
    scaled = [node("Cast", "x", "a", to=double), node("Mul", "a c")]
    made = model(scaled, {"x": INT64}, {"c": const(8, dtype=np.float64)}, double)
    assert imported(made, library, tmp_path, x=Interval(0, 1 << 21)).outputs[0].dtype is DType.F32
    text = message(made, library, tmp_path, x=Interval(0, 1 << 22))
    assert "'y' is float64 and would be computed in float32" in text


def test_float64_constants_round_where_accepted(library: OpLibrary, tmp_path: Path) -> None:
    double = TensorProto.DOUBLE
    made = model([node("Mul", "x c")], {"x": double}, {"c": const(0.1, dtype=np.float64)}, double)
    graph = imported(made, library, tmp_path, rounded=True)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(reference_run.run(graph, {"x": x})["y"], 0.1 * x, rtol=1e-6)
