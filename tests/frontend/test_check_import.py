"""--check-import: imported models are compared with the references, and wrong ones are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from spirloom.cli import main
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.passes import OPTIMIZATIONS

from spec_model.interval import Interval
from tests.facts.wrong_intervals import replaced
from tests.frontend.models import node


def scores(path: Path, factor: int) -> Path:
    """An int64 product of a rounded value and a factor: within int32 only for small factors."""
    nodes = [
        node("Cast", "i", "f", to=TensorProto.FLOAT),
        node("Cast", "f", "j", to=TensorProto.INT64),
        node("Mul", "j factor", "y"),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "scores",
        [info("i", TensorProto.INT64, ["n"])],
        [info("y", TensorProto.INT64, ["n"])],
        [helper.make_tensor("factor", TensorProto.INT64, [], [factor])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def import_(model: Path, *options: str) -> int:
    out = str(model.with_suffix(".slg"))
    return main(["import", str(model), "-o", out, "--check-import", *options])


def test_dynamic_sizes_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_(scores(tmp_path / "a.onnx", 10), "--dim", "n=1..64", "--range", "i=0..100") == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert lines == [f"  the same results as the references at n={n}" for n in (1, 33, 64)]


def test_fixed_sizes_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_(scores(tmp_path / "a.onnx", 10), "--dim", "n=5", "--range", "i=0..100") == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["  the same results as the references"]


@pytest.mark.parametrize("size", ["n=5", "n=1..64"])
def test_a_false_proof_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], size: str
) -> None:
    """The upper bound of rounded values was once computed from their lower bound."""
    model = scores(tmp_path / "a.onnx", 10**8)
    options = ("--dim", size, "--range", "i=0..100")
    assert import_(model, *options) == 1  # refused
    assert "represents" in capsys.readouterr().err
    with replaced("round", lambda x: Interval(x.floored().low, x.ceiled().low)):
        assert import_(model, *options) == 1
    message = capsys.readouterr().err
    assert "The imported model is wrong" in message
    assert "(aten.mul.Tensor) computes " in message and "int32 does not represent" in message


def test_a_wrong_pass_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def rewrite(graph: Graph, _: OpLibrary) -> None:
        for tensor in graph.tensors():
            if tensor.is_constant:
                tensor.values = np.asarray(11, np.int32)

    monkeypatch.setitem(OPTIMIZATIONS, "wrong", rewrite)
    model = scores(tmp_path / "a.onnx", 10)
    assert import_(model, "--dim", "n=5", "--range", "i=0..100") == 1
    assert "the values of 'y' differ by" in capsys.readouterr().err
