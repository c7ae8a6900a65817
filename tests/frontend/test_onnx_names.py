"""The key `onnx` of specs: names and attributes agree with ONNX, and nodes become single calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.defs import OpSchema, SchemaError
from spirloom.errors import ImportFailure
from spirloom.onnx.registry import CONVERTERS
from spirloom.op_library import OpLibrary

from tests.frontend.models import imported, model, node, ops

LIBRARY = OpLibrary()
# Not in the installed ONNX: the inputs of the node.
NEWER = {"BitwiseAnd": 2, "BitwiseNot": 1, "BitwiseOr": 2, "BitwiseXor": 2, "Gelu": 1, "Mish": 1}


def schema_of(name: str) -> OpSchema | None:
    try:
        return onnx.defs.get_schema(name)
    except SchemaError:
        assert name in NEWER
        return None


@pytest.mark.parametrize("name", LIBRARY.onnx)
def test_names_and_attributes_are_those_of_onnx(name: str) -> None:
    assert name not in CONVERTERS
    schema = schema_of(name)
    if schema is None:
        return
    op, mapping = LIBRARY.onnx[name]
    tensors = [arg for arg in LIBRARY.args(op) if arg.type.is_tensor]
    assert len(schema.inputs) == len(tensors) and len(schema.outputs) == 1
    read = {arg.attribute: arg.value for arg in mapping.args if arg.attribute}
    assert read.keys() == schema.attributes.keys()
    for attribute, value in read.items():
        default = onnx.helper.get_attribute_value(schema.attributes[attribute].default_value)
        default = default.decode() if isinstance(default, bytes) else default
        same = np.isclose(value, default) if isinstance(value, float) else value == default
        assert same, attribute


MIXED = ("Where",)  # inputs of several types
SINGLE = sorted(set(LIBRARY.onnx) - set(MIXED) - set(NEWER))


@pytest.mark.parametrize("name", SINGLE)
def test_a_node_becomes_one_call(name: str, library: OpLibrary, tmp_path: Path) -> None:
    schema = schema_of(name)
    assert schema is not None
    is_float = any("tensor(float)" in each.allowed_type_strs for each in schema.type_constraints)
    dtype = TensorProto.FLOAT if is_float else TensorProto.BOOL
    names = "ab"[: len(schema.inputs)]
    made = model([node(name, " ".join(names))], dict.fromkeys(names, (2, 3)), dtype=dtype)
    assert ops(imported(made, library, tmp_path, optimized=False)) == [library.onnx[name][0]]


SPEC = """\
# y = x * factor + offset
op: acme.affine
onnx: {com.acme.Affine: {factor: scale = 2.0, offset: 1.0}}
args: {factor: float, offset: float = 0.0}
kernel:
  template: unary.glsl.j2
  dtypes: [f32]
  params: {expr: x * factor + offset}
  push: {factor: factor, offset: offset}
reference: x * factor + offset
tests:
  - {x: [3], factor: 0.5, offset: -1}
"""


def affine(tmp_path: Path, **attributes: float) -> list[tuple[str, list[object]]]:
    """The calls of a model with an operator of another domain, which a project's spec names."""
    (tmp_path / "op_specs").mkdir(exist_ok=True)
    (tmp_path / "op_specs/affine.yaml").write_text(SPEC)
    made = model([helper.make_node("Affine", ["x"], ["y"], domain="com.acme", **attributes)],
                 {"x": (3,)})  # fmt: skip
    made.opset_import.append(helper.make_opsetid("com.acme", 1))
    graph = imported(made, OpLibrary.with_dirs([tmp_path / "op_specs"]), tmp_path)
    return [(n.op, list(n.args[1:])) for n in graph.nodes]


def test_operators_of_a_project_have_onnx_names(tmp_path: Path) -> None:
    assert affine(tmp_path) == [("acme.affine", [2.0, 1.0])]
    assert affine(tmp_path, scale=0.5) == [("acme.affine", [0.5, 1.0])]


def test_attributes_that_no_argument_reads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match=r"its attribute shift=3\.0 is not supported"):
        affine(tmp_path, shift=3.0)
