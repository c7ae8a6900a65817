"""The catalog: facts about operators."""

from __future__ import annotations

import json

import pytest

from codegen.catalog import OpFacts, catalog, catalog_text
from codegen.pages import op_table_text
from tests.codegen.small_project import Project


def facts_of(project: Project) -> OpFacts:
    (facts,) = catalog(project.load())
    return facts


def test_facts(project: Project) -> None:
    facts = facts_of(project)
    assert facts.signature == "(a: tensor, b: tensor, alpha: float = 1.0) -> y"
    assert (facts.op, facts.spec, facts.lines) == ("aten.add.Tensor", "op_specs/add.yaml", 17)
    assert (facts.dtypes, facts.storages) == (("f32", "f16"), ("buffer", "texture3d", "texture2d"))
    assert (facts.templates, facts.variants) == (("binary.glsl.j2",), 6)
    assert "Add" in facts.onnx
    assert json.loads(catalog_text(project.load()))["aten.add.Tensor"]["dynamic_shapes"] == "yes"


def test_traits_and_foreign_names(project: Project) -> None:
    names = "overloads: [aten.add]\nexecutorch: [et.add]\nonnx: com.acme.Plus\n"
    project.spec("args:", f"{names}traits:\n  - elementwise\n  - selects: alpha == 0\nargs:")
    lines = op_table_text(project.load()).splitlines()
    traits = "`elementwise`, `selects (some calls)`, `exact (some calls)`"
    assert f"- Traits: {traits}, `keeps_range (some calls)`" in lines
    assert {"- PyTorch overloads: `aten.add`", "- ExecuTorch: `et.add`"} <= set(lines)
    assert "com.acme.Plus" in facts_of(project).onnx


def test_signatures_have_the_syntax_of_specs(project: Project) -> None:
    project.spec("  b: tensor\n", "  b: tensor\n  c: tensor<i32>?\n  d: 'int[2] = 3'\n  e: int[]\n")
    project.spec("dtypes: [f32, f16]", "dtypes: [f32, f16]\n  tensors: {c: {storage: buffer}}")
    project.edit("templates/glsl/binary.yaml", "  - {a: [7], b: [7]}", "  []")
    project.spec("b: [3], alpha: 0.5", "b: [3], c: null, e: [1]")
    assert facts_of(project).signature == (
        "(a: tensor, b: tensor, c: tensor<i32>?, d: int[2] = [3, 3], e: int[], "
        "alpha: float = 1.0) -> y"
    )


def test_an_unsupported_storage_has_a_reason(project: Project) -> None:
    project.spec(
        "dtypes: [f32, f16]",
        "dtypes: [f32, f16]\n  storages: [buffer]\n"
        "  unsupported_storage: {texture: too long a story}",
    )
    assert facts_of(project).absent_storages == {
        "texture3d": "too long a story",
        "texture2d": "too long a story",
    }
    assert "- Not in texture3d, texture2d: too long a story\n" in op_table_text(project.load())


@pytest.mark.parametrize(
    ("kernel", "dynamic"),
    [
        ("when: a.rank == 2", "yes"),
        ("when: a.dtype == 'f32'", "yes"),
        ("when: a.shape[0] == 2", "new plan"),
        ("when: numel(b) % 4 == 0", "new plan"),
        ("constants: {SIZE: size}", "new plan"),
        ("constants: {ALPHA: alpha}", "yes"),
    ],
)
def test_dynamic_shapes(project: Project, kernel: str, dynamic: str) -> None:
    if "size" in kernel:
        project.spec("outputs:\n", "let: {size: '[d for d in a.shape][0]'}\noutputs:\n")
    project.spec("  dtypes: [f32, f16]", f"  dtypes: [f32, f16]\n  {kernel}")
    assert facts_of(project).dynamic_shapes == dynamic
