"""Imported operators against those who define them: ONNX's reference, and ONNX Runtime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.case.test_case import TestCase
from spirloom.ir import Array
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.ops import OpLibrary

from tests.frontend import reference_run
from tests.frontend.models import random

OPERATORS = ("Attention", "RMSNormalization", "RotaryEmbedding")
OPSET = 23
# What opset 23 does not say clearly, and so is refused.
UNCLEAR = "means different things in different releases"


def _cases() -> Iterator[TestCase]:
    """ONNX's cases of operators of its own, set back to the opset that brought them."""
    for op in OPERATORS:
        for case in collect_testcases(op):
            made = case.model
            float32 = all(
                info.type.tensor_type.elem_type in (TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64)
                for info in made.graph.input
            )
            (node, *more) = made.graph.node
            if float32 and not more and "nonpad_kv" not in " ".join(node.input):
                yield case


LIBRARY = OpLibrary()


def _run(made: onnx.ModelProto, inputs: dict[str, Array], folder: Path) -> list[Array]:
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    graph = import_model(path, LIBRARY, Shapes())
    given = {t.name: inputs[t.name].astype(t.dtype.numpy) for t in graph.inputs}
    results = reference_run.run(graph, given)
    return [results[info.name] for info in made.graph.output]


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in _cases()])
def test_onnx_agrees(case: TestCase, tmp_path: Path) -> None:
    made = case.model
    for imported in made.opset_import:
        imported.version = min(imported.version, OPSET)
    for inputs, outputs in case.data_sets:
        named = dict(zip((i.name for i in made.graph.input), inputs, strict=True))
        results = _run(made, named, tmp_path)
        for result, expected in zip(results, outputs, strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
