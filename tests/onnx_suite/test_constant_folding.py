"""Cases of the suite whose inputs are all constant, computed at import."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from spirloom.errors import ImportFailure
from spirloom.ir import Array
from spirloom.onnx.constant_folding.registry import EVALUATORS
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary

from tests.onnx_suite.attempt import reject_other_values
from tests.onnx_suite.outcome import DISPUTED, TOLERANCE
from tests.onnx_suite.suite import SuiteCase, read_suite

LIBRARY = OpLibrary()
# Releases of the onnx package read values of this type differently.
SKIPPED = "BFLOAT16"


def computed(case: SuiteCase, inputs: tuple[Array, ...]) -> Iterator[Array | None]:
    """The outputs of a case with constant inputs; None for those that are not computed."""
    fixed = dict(zip((info.name for info in case.inputs), inputs, strict=True))
    graph = import_model(case.path, LIBRARY, Shapes(), fixed=fixed)
    for output in graph.outputs:
        (maker,) = (node for node in graph.nodes if output in node.outputs)
        source = next(maker.inputs(), None)
        yield source.data if source is not None and maker.op == "aten._to_copy" else None


def test_integers_are_exact(tmp_path: Path) -> None:
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, [1]) for n in "abc"]
    nodes = [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Sub", ["s", "c"], ["y"])]
    output = helper.make_tensor_value_info("y", TensorProto.INT64, [1])
    graph = helper.make_graph(nodes, "sum", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    values = tuple(np.array([value]) for value in (1 << 62, 3, 1 << 62))
    (found,) = computed(SuiteCase("node", "sum", tmp_path), values)
    assert found is not None
    assert found.tolist() == [3]


def test_results_are_those_of_the_suite(suite: Path) -> None:
    compared, wrong = set[str](), []
    for case in read_suite(suite):
        name = f"{case.group}/{case.name}"
        if case.group != "node" or name in DISPUTED or reject_other_values(case) is not None:
            continue
        if case.operator not in EVALUATORS or not case.inputs or SKIPPED in name:
            continue
        for data in case.data_sets():
            try:
                found = list(computed(case, data.inputs))
            except ImportFailure as error:
                wrong += [] if any(t in str(error) for t in ("STRING", "float64")) else [name]
                continue
            for actual, expected in zip(found, data.outputs, strict=True):
                if actual is None:
                    continue
                compared.add(case.operator)
                tolerance = {"rtol": TOLERANCE.rtol, "atol": TOLERANCE.atol}
                same = actual.shape == expected.shape and np.allclose(
                    actual, expected, **tolerance, equal_nan=True
                )
                wrong += [] if same else [name]
    assert not wrong
    assert len(compared) > 40, compared
