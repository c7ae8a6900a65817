"""Args of the type `number`: their push constants in float and integer kernels."""

from __future__ import annotations

import json
import math
import struct

import pytest

from codegen.manifest import manifest_text
from spec_model.expr.evaluation import evaluate
from spec_model.expr.semantics import as_number
from spec_model.expr.types import EvalError, TensorType
from spec_model.spec import PushMember
from spec_model.vocabulary import DType
from tests.codegen.small_project import Project

MIXED = "[f32, f16, i32, u8, b8]"


def pushed(project: Project, dtypes: str) -> PushMember:
    """The member alpha of a kernel with these dtypes."""
    project.spec("alpha: float", "alpha: number")
    project.spec("[f32, f16]", dtypes)
    return project.load().ops["aten.add.Tensor"].kernels[0].push[-1]


def bits(member: PushMember, dtype: DType, alpha: float) -> object:
    """The four bytes computed by the runtime's formula."""
    tensor = TensorType((2,), dtype)
    value = evaluate(member.pushed, {"a": tensor, "b": tensor, "alpha": alpha})
    if member.type == "float":
        assert isinstance(value, float)
        return struct.pack("<f", value)
    assert isinstance(value, int)
    return struct.pack("<i", value)


@pytest.mark.parametrize("alpha", [0.0, 0.5, -1.75, 16777217.0, -2147483648.0, 1e10, -math.inf])
@pytest.mark.parametrize("dtypes", [MIXED, "[f32, f16]", "[i32, u8]", "[b8]", "[f32, i32]"])
def test_the_formula_computes_the_value_of_the_dtype(
    project: Project, dtypes: str, alpha: float
) -> None:
    member = pushed(project, dtypes)
    for dtype in map(DType, dtypes.strip("[]").split(", ")):
        number = as_number(alpha, dtype)
        form = "<f" if dtype.is_float else "<i"
        assert bits(member, dtype, alpha) == struct.pack(form, number)


def test_integers_are_exact() -> None:
    assert as_number(16777217.0, DType.I32) == 16777217
    assert as_number(math.inf, DType.I32) == 2147483647
    assert as_number(-2.5, DType.I8) == -2
    assert as_number(0.5, DType.B8) == 1
    assert as_number(0.5, DType.F16) == 0.5
    with pytest.raises(EvalError, match="outside int64"):
        as_number(math.nan, DType.I32)


@pytest.mark.parametrize(
    ("dtypes", "kind"), [(MIXED, "number"), ("[f32, f16]", "float"), ("[i32, u8]", "int")]
)
def test_a_kernel_of_one_kind_has_a_plain_type(project: Project, dtypes: str, kind: str) -> None:
    assert pushed(project, dtypes).type == kind


def test_variants_declare_it_by_their_dtype(project: Project) -> None:
    project.edit(
        "templates/glsl/binary.glsl.j2", "void main", "{{ push[-1].type }} alpha;\nvoid main"
    )
    pushed(project, MIXED)
    variants = project.load().variants
    rows = json.loads(manifest_text("small", variants))["variants"]
    for variant, row in zip(variants, rows, strict=True):
        kind = "float" if variant.dtype.is_float else "int"
        assert row["push"][-1]["type"] == kind
        assert f"{kind} alpha;" in project.glsl(variant.id)


def test_values_computed_from_a_number_are_floats(project: Project) -> None:
    project.spec("{alpha: alpha}", "{alpha: 2.0 * alpha}")
    member = pushed(project, MIXED)
    assert member.type == "float"
    assert bits(member, DType.I32, 1.5) == struct.pack("<f", 3.0)


def test_push_constants_of_a_call(project: Project) -> None:
    pushed(project, MIXED)
    op = project.load().ops["aten.add.Tensor"]
    for dtype, alpha in ((DType.F32, 2.5), (DType.I32, 2)):
        tensor = TensorType((2,), dtype)
        found = op.dispatch({"a": tensor, "b": tensor, "alpha": 2.5}, "buffer")
        assert found is not None
        assert found[0]["alpha"] == alpha
