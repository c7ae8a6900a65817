"""Options for open dimensions, constant inputs and ranges, as `spirloom import` reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, ValueInfoProto, helper
from spirloom import graph_reader
from spirloom.cli import main
from spirloom.ir import Graph

from tests.frontend.models import model, node


def run(
    made: ModelProto, folder: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, str]:
    """The exit code and the error output of an import to `folder`/m.slg."""
    path = folder / "m.onnx"
    path.write_bytes(made.SerializeToString())
    code = main(["import", str(path), "-o", str(folder / "m.slg"), *options])
    return code, capsys.readouterr().err


def imported(folder: Path) -> Graph:
    return graph_reader.load(folder / "m.slg")


def shapes(graph: Graph) -> list[str]:
    return ["×".join(map(str, tensor.shape)) for tensor in graph.inputs]


def sum_of_two(*dims: str | int | None) -> ModelProto:
    return model([node("Add", "a b")], {"a": [dims[0], 3], "b": [dims[1], 3]})


def test_equal_dimensions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = sum_of_two("n", "m")
    assert run(made, tmp_path, capsys, "--dim", "n=1..8", "--dim", "m=n")[0] == 0
    assert shapes(imported(tmp_path)) == ["n×3", "n×3"]
    assert run(made, tmp_path, capsys, "--dim", "n=4", "--dim", "m=n")[0] == 0
    assert shapes(imported(tmp_path)) == ["4×3", "4×3"]
    code, err = run(made, tmp_path, capsys, "--dim", "m=n")
    assert code == 1 and "--dim m=n: 'n' has no size. Set it with --dim n=N or" in err


def test_multiples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sizes that a network divides by 2 several times, as multiples of a size or of a dimension."""
    made = sum_of_two("n", "m")
    options = ("--dim", "n=4*k", "--dim", "m=4*k")
    assert run(made, tmp_path, capsys, *options, "--dim", "k=1..8")[0] == 0
    graph = imported(tmp_path)
    assert shapes(graph) == ["4*k×3", "4*k×3"] and graph.inputs[0].shape[0] == 32
    assert [(s.name, s.min, s.max) for s in graph.symbols] == [("k", 1, 8)]
    made = model([node("Concat", "a b", axis=0)], {"a": ["n", 3], "b": ["m", 3]})
    assert run(made, tmp_path, capsys, "--dim", "n=1..8", "--dim", "m=2*n")[0] == 0
    assert str(imported(tmp_path).outputs[0].shape[0]) == "3*n"
    assert run(made, tmp_path, capsys, "--dim", "n=4*k", "--dim", "m=k", "--dim", "k=2")[0] == 0
    assert shapes(imported(tmp_path)) == ["8×3", "2×3"]
    code, err = run(made, tmp_path, capsys, *options)
    assert code == 1 and "--dim n=4*k: 'k' has no size. Set it with --dim k=N or" in err
    code, err = run(made, tmp_path, capsys, "--dim", "n=0*m", "--dim", "m=4")
    assert code == 1 and "--dim n=0*m: the factor must be at least 1" in err


def test_dimensions_without_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = sum_of_two(None, "?")
    code, err = run(made, tmp_path, capsys)
    assert code == 1 and "Set them with --dim a.0=N --dim b.0=N. MIN..MAX" in err
    assert run(made, tmp_path, capsys, "--dim", "a.0=2..8", "--dim", "b.0=a.0")[0] == 0
    assert shapes(imported(tmp_path)) == ["a.0×3", "a.0×3"]


def test_a_dimension_of_inputs_with_shapes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = model([node("Relu", "x")], {"x": ["n", 3]})
    code, err = run(made, tmp_path, capsys, "--shape", "x=6,3", "--dim", "n=1..6")
    assert code == 1 and "--dim n has no effect: --shape sets all dimensions" in err


def rate() -> ModelProto:
    """y = x if rate is 16000, otherwise -x."""
    kept = helper.make_graph([node("Identity", "x", "a")], "then", [], [ValueInfoProto(name="a")])
    negated = helper.make_graph([node("Neg", "x", "b")], "else", [], [ValueInfoProto(name="b")])
    made = model(
        [node("Equal", "rate expected", "is"),
         helper.make_node("If", ["is"], ["y"], then_branch=kept, else_branch=negated)],
        {"x": [3], "rate": []},
        {"expected": np.array(16000)},
    )  # fmt: skip
    made.graph.input[1].type.tensor_type.elem_type = TensorProto.INT64
    for branch in made.graph.node[1].attribute:
        branch.g.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    return made


@pytest.mark.parametrize(
    ("options", "nodes"),
    [
        (["--constant-input", "rate=16000"], ["aten._to_copy"]),
        (["--constant-input", "rate=8000"], ["aten.neg"]),
        (["--range", "rate=8000..8000"], ["aten.neg"]),
    ],
)
def test_constant_numbers(
    options: list[str], nodes: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(rate(), tmp_path, capsys, *options) == (0, "")
    graph = imported(tmp_path)
    assert [n.op for n in graph.nodes] == nodes
    assert [tensor.name for tensor in graph.inputs] == ["x"]


def test_constant_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = model([node("Expand", "x shape")], {"x": [1, 3], "shape": [2]})
    made.graph.input[1].type.tensor_type.elem_type = TensorProto.INT64
    assert run(made, tmp_path, capsys, "--constant-input", "shape=[4,3]")[0] == 0
    assert imported(tmp_path).outputs[0].shape == (4, 3)
    code, err = run(made, tmp_path, capsys, "--constant-input", "shape=[4.5,3]")
    assert code == 1 and "has elements that the input's type, int64, cannot represent" in err


def test_outputs_without_a_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = model([node("Relu", "x")], {"x": [2, 3]})
    made.graph.output[0].CopyFrom(ValueInfoProto(name="y"))
    assert run(made, tmp_path, capsys) == (0, "")
    assert imported(tmp_path).outputs[0].shape == (2, 3)


def test_operators_of_onnx_runtime(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = node("Inverse", "x")
    call.domain = "com.microsoft"
    made = model([call], {"x": [3, 3]})
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    code, err = run(made, tmp_path, capsys)
    reason = "com.microsoft.Inverse, Inverse_y: there is no converter for this operator of ONNX"
    assert code == 1 and reason in err and "spirloom.onnx.load (Python)" in err


def test_casts_keep_the_bounds_of_integers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """100 * 10^8 exceeds int32, also if the factor was a float in between."""
    nodes = [
        node("Cast", "i", "f", to=TensorProto.FLOAT),
        node("Cast", "f", "j", to=TensorProto.INT64),
        node("Mul", "j factor"),
    ]
    for factor, accepted in ((10**8, False), (10**7, True)):
        made = model(nodes, {"i": [3]}, {"factor": np.array([factor])}, dtype=TensorProto.INT64)
        code, err = run(made, tmp_path, capsys, "--range", "i=0..100")
        assert (code == 0) == accepted, err


def test_assumed_int32(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ids * ids + 1, of int64 ids without bounds."""
    nodes = [node("Mul", "ids ids", "m"), node("Add", "m one")]
    made = model(nodes, {"ids": [3]}, {"one": np.array([1])}, dtype=TensorProto.INT64)
    code, err = run(made, tmp_path, capsys)
    assert code == 1 and "--assume-int32 accepts all of int32, and --constant-input ids=" in err
    code, err = run(made, tmp_path, capsys, "--range", "ids=0..100000")
    assert code == 1 and "or assume that all values fit with --assume-int32" in err
    assert run(made, tmp_path, capsys, "--assume-int32") == (0, "")
    assert str(imported(tmp_path).inputs[0].dtype) == "i32"
    options = ["--assume-int32", "--range", "ids=0..100000"]
    assert run(made, tmp_path, capsys, *options) == (0, "")
    assert str(imported(tmp_path).inputs[0].bounds) == "0..100000"
