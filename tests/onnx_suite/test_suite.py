"""Tests of the suite's tools: constant inputs, the page, and the check."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper
from spirloom.op_library import OpLibrary

from tests.onnx_suite.attempt import Imported, Rejected, attempt, reject_other_values
from tests.onnx_suite.check import differences
from tests.onnx_suite.make import lost
from tests.onnx_suite.outcome import Kind, Outcome
from tests.onnx_suite.suite import SuiteCase
from tests.onnx_suite.table import read_operators, read_passed, read_version, render

LIBRARY = OpLibrary()


def case(folder: Path, op: str, *types: int) -> SuiteCase:
    """A node test of one node whose inputs, x0, x1 …, are vectors of two elements."""
    inputs = [helper.make_tensor_value_info(f"x{i}", t, [2]) for i, t in enumerate(types)]
    node = helper.make_node(op, [info.name for info in inputs], ["y"])
    output = helper.make_tensor_value_info("y", types[0], None)
    model: ModelProto = helper.make_model(
        helper.make_graph([node], "test", inputs, [output]),
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=8,
    )
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return SuiteCase("node", folder.name, folder)


FLOATS = np.ones(2, np.float32)
INTS = np.array([2, 1], np.int64)


def test_no_constant_inputs_by_default(tmp_path: Path) -> None:
    result = attempt(case(tmp_path, "Add", *[TensorProto.FLOAT] * 2), [FLOATS, FLOATS], LIBRARY)
    assert isinstance(result, Imported)
    assert result.fixed == ()


def test_few_inputs_are_constant(tmp_path: Path) -> None:
    expand = case(tmp_path, "Expand", TensorProto.FLOAT, TensorProto.INT64)
    result = attempt(expand, [FLOATS, INTS], LIBRARY)
    assert isinstance(result, Imported)
    assert result.fixed == ("x1",)


def test_reason_of_a_rejected_case(tmp_path: Path) -> None:
    made = case(tmp_path, "Add", TensorProto.STRING, TensorProto.STRING)
    assert reject_other_values(made) is None
    result = attempt(made, [FLOATS, FLOATS], LIBRARY)
    assert isinstance(result, Rejected)
    assert "STRING" in result.reason


def outcome(name: str, kind: Kind, detail: str = "") -> Outcome:
    return Outcome("node", name, "Abs", kind, detail)


def test_the_page_can_be_read_back() -> None:
    page = render(
        [
            outcome("a", Kind.RUNS),
            outcome("b", Kind.FIXED, "shape"),
            outcome("c", Kind.FOLDED),
            outcome("d", Kind.UNSUPPORTED, "it is `node/z`"),
        ],
        "1.17",
    )
    assert read_version(page) == "1.17"
    assert read_operators(page) == {"Abs": 3}
    assert read_passed(page) == {"node/a", "node/b", "node/c"}


def test_the_check_lists_changes() -> None:
    before = render([outcome("a", Kind.RUNS), outcome("b", Kind.UNSUPPORTED, "no")], "1.12")
    after = render([outcome("a", Kind.UNSUPPORTED, "no"), outcome("b", Kind.RUNS)], "1.12")
    assert differences(before, before) == []
    assert differences(before, after) == [
        "node/a passed before and fails now.",
        "node/b passes, but is not on the page.",
    ]
    assert lost(before, after) == ["node/a"]
    reworded = render([outcome("a", Kind.RUNS), outcome("b", Kind.UNSUPPORTED, "never")], "1.12")
    assert len(differences(before, reworded)) == 1


def test_of_another_version_operators_are_compared() -> None:
    before = render([outcome("a", Kind.RUNS), outcome("b", Kind.UNSUPPORTED, "no")], "1.12")
    kept = render([outcome("b", Kind.RUNS), outcome("c", Kind.UNSUPPORTED, "no")], "1.17")
    without = render([outcome("b", Kind.UNSUPPORTED, "no")], "1.17")
    assert differences(before, kept) == []
    assert differences(before, without) == ["Abs: no case of ONNX 1.17 passes."]
    assert lost(before, without) == []
