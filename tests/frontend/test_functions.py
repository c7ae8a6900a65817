"""Operators that are functions, of ONNX or of the model, are expanded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import FunctionProto, NodeProto, helper
from spirloom.errors import ImportFailure
from spirloom.op_library import OpLibrary

from tests.frontend.models import compute, imported, model, node, ops, random

DOMAIN = "test.functions"


def function(
    name: str, inputs: str, outputs: str, nodes: Sequence[NodeProto], attributes: str = ""
) -> FunctionProto:
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_function(
        DOMAIN, name, inputs.split(), outputs.split(), nodes, opsets, attributes.split()
    )


def call(name: str, inputs: str, outputs: str = "y", **attributes: object) -> NodeProto:
    made = node(name, inputs, outputs, **attributes)
    made.domain = DOMAIN
    return made


def with_functions(
    nodes: Sequence[NodeProto], functions: Sequence[FunctionProto], outputs: Sequence[str] = ("y",)
) -> onnx.ModelProto:
    made = model(nodes, {"x": (2, 3)}, outputs=outputs)
    made.functions.extend(functions)
    made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    return made


def elu_of_negative() -> FunctionProto:
    """z = Elu(-a), with alpha as an attribute of the function."""
    elu = node("Elu", "b", "z")
    alpha = elu.attribute.add()
    alpha.name, alpha.ref_attr_name = "alpha", "slope"
    alpha.type = onnx.AttributeProto.FLOAT
    return function("EluOfNegative", "a", "z", [node("Neg", "a", "b"), elu], "slope")


def test_each_call_has_its_own_names_and_attributes(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        call("EluOfNegative", "x", "b", slope=3.0),
        call("EluOfNegative", "b", "c"),
        node("Add", "b c"),
    ]
    graph = imported(with_functions(nodes, [elu_of_negative()]), library, tmp_path)
    x = random(2, 3)
    first = np.where(x < 0, -x, 3 * np.expm1(-x))
    second = np.where(first < 0, -first, np.expm1(-first))
    np.testing.assert_allclose(compute(graph, x), first + second, rtol=1e-5, atol=1e-6)


def test_functions_call_functions(library: OpLibrary, tmp_path: Path) -> None:
    twice = function("Twice", "a", "b", [call("EluOfNegative", "a", "t"), node("Add", "t t", "b")])
    graph = imported(
        with_functions([call("Twice", "x")], [twice, elu_of_negative()]), library, tmp_path
    )
    assert ops(graph) == ["aten.neg", "aten.elu", "aten.add.Tensor"]


def test_absent_inputs_and_outputs(library: OpLibrary, tmp_path: Path) -> None:
    clip = function(
        "Clip2", "a low high", "b c", [node("Clip", "a low high", "b"), node("Neg", "a", "c")]
    )
    made = with_functions([call("Clip2", "x", "y")], [clip])
    assert ops(imported(made, library, tmp_path)) == ["aten.clamp"]


def test_problems_of_functions_are_reported(library: OpLibrary, tmp_path: Path) -> None:
    random_ = function("Noise", "a", "b", [node("RandomNormalLike", "a", "b")])
    made = with_functions([call("Noise", "x", "z"), node("Relu", "z")], [random_])
    with pytest.raises(ImportFailure, match=r"RandomNormalLike, Noise_z/.*it generates random"):
        imported(made, library, tmp_path)


def test_unknown_functions_are_reported(library: OpLibrary, tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match=r"the operator domain 'test\.functions' is unknown"):
        imported(with_functions([call("Nothing", "x")], []), library, tmp_path)


def test_recursive_functions(library: OpLibrary, tmp_path: Path) -> None:
    endless = function("Endless", "a", "b", [call("Endless", "a", "b")])
    with pytest.raises(
        ImportFailure, match=r"function calls are nested more than 32 deep|must not be recursive"
    ):
        imported(with_functions([call("Endless", "x")], [endless]), library, tmp_path)


def test_limit_of_nodes(
    library: OpLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spirloom.onnx.importer.MAX_NODES", 100)
    levels = [function("F0", "a", "b", [node("Relu", "a", "b")])]
    for i in range(1, 20):
        below = f"F{i - 1}"
        levels.append(function(f"F{i}", "a", "b", [call(below, "a", "t"), call(below, "t", "b")]))
    with pytest.raises(ImportFailure, match="has more than 100 nodes after inlining"):
        imported(with_functions([call("F19", "x")], levels), library, tmp_path)


def test_schema_functions(library: OpLibrary, tmp_path: Path) -> None:
    x = random(2, 3, 4, 5)
    made = model([node("MeanVarianceNormalization", "x")], {"x": x.shape})
    graph = imported(made, library, tmp_path)
    mean, deviation = x.mean((0, 2, 3), keepdims=True), x.std((0, 2, 3), keepdims=True)
    np.testing.assert_allclose(compute(graph, x), (x - mean) / deviation, rtol=1e-4, atol=1e-5)
