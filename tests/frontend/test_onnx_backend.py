"""ONNX's own node tests: each model either computes what ONNX says, or is refused."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from spirloom.errors import ImportFailure
from spirloom.ir import Array, Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.onnx.table import CONVERTERS
from spirloom.ops import OpLibrary
from spirloom.passes import optimize

from tests.frontend import reference_run

# Here the test disagrees with ONNX Runtime about the length of a resized axis.
DISPUTED = {
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_scales_cubic_align_corners",
}

# Of Debian 12's ONNX, with what can be imported now; a new converter raises it.
EXPECTED_TO_PASS = 629


def node_tests() -> list[Any]:
    """The test cases: name, model and data."""
    for name, kind in (("float", float), ("int", int), ("bool", bool), ("object", object)):
        if name not in np.__dict__:  # this ONNX is older than this NumPy
            setattr(np, name, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        node = pytest.importorskip("onnx.backend.test.case.node")
        return list(node.collect_testcases(None))


def test_node_tests_pass_or_are_refused(library: OpLibrary, tmp_path: Path) -> None:
    results: Counter[str] = Counter()
    wrong = []
    for case in node_tests():
        inputs, outputs = case.data_sets[0]
        tensors = all(isinstance(v, np.ndarray | np.generic) for v in inputs + outputs)
        if not tensors or "BFLOAT16" in case.name:  # NumPy holds these as integers
            continue
        values = [np.asarray(v) for v in inputs]
        graph = _import(case.model, values, library, tmp_path / "m.onnx")
        result = "refused" if graph is None else _outcome(case, graph, values, outputs)
        results[result] += 1
        if result == "wrong" and case.name not in DISPUTED:
            wrong.append(case.name)
    assert wrong == []
    assert results["passed"] >= EXPECTED_TO_PASS, results


def _import(
    model: onnx.ModelProto, values: list[Array], library: OpLibrary, path: Path
) -> Graph | None:
    """The graph, or None. What must be known at import may be given as constants instead."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for as_constants in (False, True):
        if as_constants:
            for info, value in zip(model.graph.input, values, strict=True):
                if value.dtype.kind in "iu" or value.ndim == 0 or info.name in ("scales", "roi"):
                    made.graph.initializer.append(numpy_helper.from_array(value, info.name))
        path.write_bytes(made.SerializeToString())
        try:
            graph = import_model(path, library, Shapes())
        except ImportFailure:
            continue
        optimize(graph, library)
        return graph
    return None


def _outcome(case: Any, graph: Graph, values: list[Array], outputs: list[Any]) -> str:
    names = [info.name for info in case.model.graph.input]
    computed = reference_run.run(graph, dict(zip(names, values, strict=True)))
    for info, expected in zip(case.model.graph.output, outputs, strict=True):
        y, r = computed[info.name], np.asarray(expected)
        close = y.shape == r.shape and np.allclose(
            y.astype(np.float64), r.astype(np.float64), rtol=1e-3, atol=1e-5, equal_nan=True
        )
        if not close:
            return "wrong"
    return "passed"


def test_every_converter_names_an_onnx_operator() -> None:
    newer = {"Col2Im", "GroupNormalization", "Mish", "Gelu"}  # than this ONNX
    newer |= {"BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"}
    known = {schema.name for schema in onnx.defs.get_all_schemas()}
    assert set(CONVERTERS) - newer <= known
