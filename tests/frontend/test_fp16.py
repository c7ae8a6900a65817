"""--fp16: the nodes that stay float32. tests/torch/test_fp16_policy.py compares the errors with
PyTorch's.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType, Graph
from spirloom.onnx.partition.load import load
from spirloom.onnx.partition.partitioner import Options, partition_model
from spirloom.op_library import OpLibrary
from spirloom.partition import Costs
from spirloom.passes.fp16 import float32_lines, float32_patterns, to_fp16
from spirloom.passes.fp16_rules import Reason

from tests.frontend.models import compute, imported, model, node, ops, random

CAST, FLOAT, HALF, INT64 = (
    "aten._to_copy",
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.INT64,
)


def dtypes(graph: Graph) -> dict[str, str]:
    """The dtype of the result of each operator but casts, in the order of nodes."""
    return {
        n.op.removeprefix("aten."): str(n.outputs[0].dtype) for n in graph.nodes if n.op != CAST
    }


def scalar(value: float) -> Array:
    return np.array(value, np.float32)


def test_a_network_without_float32_regions(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        node("Conv", "x w", "c"), node("Sigmoid", "c", "s"), node("Mul", "c s", "m"),
        node("GlobalAveragePool", "m", "p"), node("Mul", "m p", "q"), node("Softmax", "q", axis=1),
    ]  # fmt: skip
    made = model(nodes, {"x": (1, 3, 4, 4)}, {"w": random(2, 3, 1, 1)})
    graph = imported(made, library, tmp_path, fp16=True)
    assert set(dtypes(graph).values()) == {"f16"} and not graph.float32
    assert ops(graph).count(CAST) == 2


def test_casts_are_at_the_borders_of_a_region(library: OpLibrary, tmp_path: Path) -> None:
    """A decomposed softmax between two products."""
    nodes = [
        node("MatMul", "x w", "s"), node("ReduceMax", "s", "m", axes=[-1]), node("Sub", "s m", "d"),
        node("Exp", "d", "e"), node("ReduceSum", "e axes", "t"), node("Div", "e t", "p"),
        node("MatMul", "p w"),
    ]  # fmt: skip
    constants = {"w": random(16, 16), "axes": np.array([-1])}
    graph = imported(model(nodes, {"x": (4, 16)}, constants), library, tmp_path, fp16=True)
    found = dtypes(graph)
    assert found["sum.dim_IntList"] == found["div.Tensor"] == "f32"
    assert found["amax"] == "f16"  # exact, so that only its few results are converted
    assert ops(graph).count(CAST) == 5  # x; the scores and the maximum; the weights; y
    assert {n.outputs[0].dtype for n in graph.nodes if n.op in ("aten.mm", "aten.linear")} == {
        DType.F16
    }


def test_positions_and_angles(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        node("Cast", "i", "f", to=FLOAT), node("MatMul", "f w", "a"), node("Cos", "a", "c"),
        node("Mul", "c x"),
    ]  # fmt: skip
    steps = (10000 ** -(np.arange(8) / 8)).astype(np.float32)[None]
    made = model(nodes, {"x": (4, 8)}, {"w": steps})
    made.graph.input.append(helper.make_tensor_value_info("i", TensorProto.INT32, (4, 1)))
    graph = imported(made, library, tmp_path, fp16=True)
    positions = np.array([[0], [1000], [4001], [60001]], np.int32)
    x = random(4, 8)
    expected = np.cos(positions.astype(np.float64) @ steps) * x
    np.testing.assert_allclose(compute(graph, x, positions), expected, atol=3e-3)
    assert dtypes(graph)["mul.Tensor"] == "f16"


@pytest.mark.parametrize("shift", ["Max", "Add"])
def test_an_epsilon_before_a_logarithm(library: OpLibrary, tmp_path: Path, shift: str) -> None:
    nodes = [node("Relu", "x", "r"), node(shift, "r e", "s"), node("Log", "s")]
    made = model(nodes, {"x": (5,)}, {"e": scalar(1e-9)})
    x = np.array([-1, 0, 1, 2, 3], np.float32)
    expected = np.log(np.maximum(x, 1e-9))
    for optimized in (False, True):
        graph = imported(made, library, tmp_path, optimized=optimized, fp16=True)
        np.testing.assert_allclose(compute(graph, x), expected, rtol=1e-3, atol=1e-3)


def test_a_layer_scale_is_no_epsilon(library: OpLibrary, tmp_path: Path) -> None:
    made = model([node("Mul", "x s")], {"x": (2, 8)}, {"s": np.full(8, 1e-6, np.float32)})
    assert not imported(made, library, tmp_path, fp16=True).float32


def test_values_beyond_the_range_saturate(library: OpLibrary, tmp_path: Path) -> None:
    """A mask of integers times the lowest float32, read by an fp16 product."""
    nodes = [node("Cast", "i", "f", to=FLOAT), node("Mul", "f c", "m"), node("MatMul", "m w")]
    made = model(nodes, {}, {"c": scalar(-3.4e38), "w": np.ones((2, 2), np.float32)})
    made.graph.input.append(helper.make_tensor_value_info("i", TensorProto.INT32, (1, 2)))
    graph = imported(made, library, tmp_path, fp16=True)
    assert graph.nodes[-2].inputs().__next__().dtype is DType.F16
    clamped = next(n for n in graph.nodes if n.op == "aten.clamp")
    assert clamped.args[1:] == (-61440.0, 61440.0)


@pytest.mark.parametrize("optimized", [False, True])
def test_integer_layers_are_exact(library: OpLibrary, tmp_path: Path, optimized: bool) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(200, 255, (3, 200)).astype(np.uint8)
    b = rng.integers(100, 127, (200, 4)).astype(np.int8)
    made = model([node("MatMulInteger", "a b")], {"a": a.shape}, {"b": b}, dtype=TensorProto.UINT8)
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.INT32
    graph = imported(made, library, tmp_path, optimized=optimized, fp16=True)
    np.testing.assert_array_equal(compute(graph, a), a.astype(int) @ b)
    x = a.reshape(1, 2, 3, 100)
    filters = b.reshape(2, 2, 2, 100)[:, :, :, :]
    made = model(
        [node("ConvInteger", "x w")], {"x": x.shape}, {"w": filters}, dtype=TensorProto.UINT8
    )
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.INT32
    graph = imported(made, library, tmp_path, optimized=optimized, fp16=True)
    expected = [[[(x[0, :, r : r + 2].astype(int) * f).sum()] for r in range(2)] for f in filters]
    np.testing.assert_array_equal(compute(graph, x), [expected])


def test_scaled_integer_sums_do_not_overflow(library: OpLibrary, tmp_path: Path) -> None:
    """A dynamically quantized layer: its int32 sums exceed fp16, the scaled results fit."""
    nodes = [
        node("DynamicQuantizeLinear", "x", "q s z"), node("MatMulInteger", "q b z", "i"),
        node("Cast", "i", "f", to=FLOAT), node("Mul", "f s"),
    ]  # fmt: skip
    b = np.random.default_rng(0).integers(90, 127, (300, 4)).astype(np.int8)
    made = model(nodes, {"x": (2, 300)}, {"b": b}, opset=17)
    x = np.abs(random(2, 300)) / 100
    full, half = (
        compute(imported(made, library, tmp_path, fp16=fp16), x) for fp16 in (False, True)
    )
    assert np.abs(full).max() > 50
    np.testing.assert_allclose(half, full, rtol=1e-3)


def test_casts_of_the_model_are_kept(library: OpLibrary, tmp_path: Path) -> None:
    """A float16 model with a part in float32 stays as it is; a cast of an input is no part."""
    nodes = [
        node("MatMul", "x w", "h"), node("Cast", "h", "f", to=FLOAT), node("MatMul", "f v", "g"),
        node("Cast", "g", "y", to=HALF),
    ]  # fmt: skip
    constants = {"w": random(4, 4).astype(np.float16), "v": random(4, 4)}
    made = model(nodes, {"x": (2, 4)}, constants, dtype=HALF)
    plain, graph = (imported(made, library, tmp_path, fp16=fp16) for fp16 in (False, True))
    assert [(n.op, str(n.outputs[0])) for n in graph.nodes] == [
        (n.op, str(n.outputs[0])) for n in plain.nodes
    ]
    made = model(nodes[1:], {"h": (2, 4)}, {"v": constants["v"]}, dtype=HALF)
    graph = imported(made, library, tmp_path, fp16=True)
    assert set(dtypes(graph).values()) == {"f16"}


def test_integers_and_fp16_of_the_model_are_not_listed(library: OpLibrary, tmp_path: Path) -> None:
    made = model([node("Add", "i c")], {"i": (2,)}, {"c": np.array([100000], np.int32)})
    for info in (*made.graph.input, *made.graph.output):
        info.type.tensor_type.elem_type = TensorProto.INT32
    assert not imported(made, library, tmp_path, fp16=True).float32
    nodes = [node("Add", "x e", "s"), node("Exp", "s")]
    epsilon = np.array(1e-6, np.float16)
    made = model(nodes, {"x": (2,)}, {"e": epsilon}, dtype=HALF)
    graph = imported(made, library, tmp_path, fp16=True)
    assert set(dtypes(graph).values()) == {"f16"} and not graph.float32


def test_stored_fp16_values_are_no_part_in_float32(library: OpLibrary, tmp_path: Path) -> None:
    """An fp16 table, as in compressed models, followed by a float32 network."""
    nodes = [
        node("Gather", "t i", "h"), node("Cast", "h", "f", to=FLOAT), node("MatMul", "f v"),
    ]  # fmt: skip
    constants = {"t": random(9, 4).astype(np.float16), "v": random(4, 4)}
    made = model(nodes, {"i": (2,)}, constants, dtype=INT64)
    made.graph.output[0].type.tensor_type.elem_type = FLOAT
    assert set(dtypes(imported(made, library, tmp_path, fp16=True)).values()) == {"f16"}


def test_a_network_with_integer_results(library: OpLibrary, tmp_path: Path) -> None:
    """Images in and out: only the last layer may compute a value that becomes an integer."""
    nodes = [
        node("Cast", "x", "f", to=FLOAT), node("Conv", "f w", "c"), node("Relu", "c", "r"),
        node("Conv", "r v", "d"), node("Relu", "d", "s"),
        node("Cast", "s", "y", to=TensorProto.INT32),
    ]  # fmt: skip
    constants = {"w": random(4, 3, 3, 3), "v": random(3, 4, 1, 1)}
    made = model(nodes, {"x": (1, 3, 8, 8)}, constants, dtype=TensorProto.UINT8)
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.INT32
    graph = imported(made, library, tmp_path, fp16=True)
    convolutions = [n for n in graph.nodes if n.op == "aten.convolution"]
    assert [str(n.outputs[0].dtype) for n in convolutions] == ["f16", "f16"]


def test_keep_float32(
    library: OpLibrary, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [node("MatMul", "x w", "h"), node("Relu", "h", "r"), node("MatMul", "r w")]
    made = model(nodes, {"x": (2, 8)}, {"w": random(8, 8)})
    graph = imported(made, library, tmp_path)
    to_fp16(graph, library, ["MatMul_h"])
    first, second = [n for n in graph.nodes if n.op != CAST]
    assert first.outputs[0].dtype is DType.F32 and second.outputs[0].dtype is DType.F16
    assert graph.float32 == {first.name: Reason.OPTION}
    path, out = tmp_path / "model.onnx", tmp_path / "out.slg"
    command = ["import", str(path), "-o", str(out), "--keep-float32"]
    assert main([*command, "MatMul_y*", "--keep-float32", "Gemm*", "--fp16"]) == 0
    lines = capsys.readouterr().out
    assert "float32: 1 of" in lines and "1: --keep-float32: MatMul_y" in lines
    assert "--keep-float32 Gemm*: no node has such a name" in lines
    assert main([*command, "*"]) == 1
    assert "--keep-float32 requires --fp16" in capsys.readouterr().err


def test_keep_float32_of_a_partition(library: OpLibrary, tmp_path: Path) -> None:
    made = model([node("MatMul", "x w")], {"x": (64, 256)}, {"w": random(256, 256)})
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    graphs: list[Graph] = []
    options = Options(
        library, fp16=True, keep_float32=["MatMul*"], costs=Costs(transfer_bytes=1e15)
    )
    partition_model(path, made, options, graphs.append)
    assert [set(graph.float32.values()) for graph in graphs] == [{Reason.OPTION}]
    with pytest.raises(ImportFailure, match="requires fp16"):
        load(path, keep_float32=["MatMul*"])


def test_keep_float32_is_not_for_language_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["import", str(tmp_path), "-o", str(tmp_path / "x.slg"), "--fp16"]
    assert main([*command, "--keep-float32", "*"]) == 1
    assert "--keep-float32 is for ONNX models, exported programs" in capsys.readouterr().err


def test_the_report_names_reasons() -> None:
    graph = Graph(float32={"a": Reason.RANGE, "b": Reason.RANGE, "c": Reason.FOLLOWS})
    lines = float32_lines(graph)
    assert lines[0] == "float32: 3 of 0 nodes"
    assert lines[1].startswith("  2: the result may exceed fp16") and lines[1].endswith(": a, b")


def test_patterns_of_python_are_checked() -> None:
    with pytest.raises(ImportFailure, match="must be a list of patterns"):
        float32_patterns("*", True)
    with pytest.raises(ImportFailure, match="requires fp16"):
        float32_patterns(["*"], False)
