"""The key `traits`: implied traits, conditions, messages, and the table of the documentation."""

from __future__ import annotations

import pytest

from spec_model import DType, TensorType
from spec_model.templates import ROOT
from spec_model.traits import Trait
from tests.codegen.small_project import Project

X = TensorType((2,), DType.F32)


def test_implied_traits(project: Project) -> None:
    project.spec("args:", "traits: [selects, elementwise]\nargs:")
    op = project.load().ops["aten.add.Tensor"]
    assert list(op.traits) == [
        Trait.ELEMENTWISE, Trait.SELECTS, Trait.EXACT, Trait.KEEPS_RANGE,
    ]  # fmt: skip
    assert op.has_trait(Trait.EXACT) and not op.has_trait(Trait.BOUNDED)


def test_a_condition_depends_on_the_call(project: Project) -> None:
    project.spec("args:", "traits:\n  - selects: alpha == 0\nargs:")
    op = project.load().ops["aten.add.Tensor"]
    assert not op.has_trait(Trait.SELECTS)
    assert op.has_trait(Trait.EXACT, {"a": X, "b": X, "alpha": 0.0})
    assert not op.has_trait(Trait.EXACT, {"a": X, "b": X})


def test_a_strided_copy_may_use_its_names_in_no_kernel(project: Project) -> None:
    project.spec("  b: tensor\n", "")
    project.spec('"broadcast(a.shape, b.shape)"', "a.shape")
    project.spec("expr: a + b * alpha", "expr: a")
    lets = "let: {split: a.shape, source_strides: strides(a.shape), begin: '0'}"
    project.spec("outputs:", f"traits: [moves_data]\n{lets}\noutputs:")
    project.spec("reference: a + alpha * b", "reference: a")
    project.spec("b: [3], alpha", "alpha")
    project.edit("templates/glsl/binary.yaml", "b: [7]", "alpha: 1")
    assert project.load().ops["aten.add.Tensor"].has_trait(Trait.SELECTS)


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        ("[elementwis]", f"3:10: error: Trait 'elementwis' is not one of: {', '.join(Trait)}."),
        ("elementwis", f"3:9: error: Trait 'elementwis' is not one of: {', '.join(Trait)}."),
        ("{selects: true}", "3:9: error: A list is expected for 'traits', not a map."),
        ("[{selects: true, exact: true}]", "3:10: error: A trait is a name, or one name with a "
         "condition: 'selects: not accumulate'."),
        ("[{selects: alpha}]", "3:20: error: Expression is of type float; expected bool."),
        ("[moves_data]", "3:10: error: Trait 'moves_data' requires 'split', ints, in 'let'."),
        ("[moves_data]\nlet: {split: a.shape, source_strides: a.shape, begin: a.rank}",
         "3:10: error: Trait 'moves_data' requires one tensor, as the first argument, and one "
         "output."),
    ],
)  # fmt: skip
def test_messages(project: Project, traits: str, message: str) -> None:
    project.spec("args:", f"traits: {traits}\nargs:")
    with project.fails(f"op_specs/add.yaml:{message}"):
        project.load()


def test_the_documentation_states_every_trait() -> None:
    page = (ROOT / "docs/reference/spec-language.md").read_text(encoding="utf-8")
    for trait in Trait:
        implied = ", ".join(f"`{other}`" for other in Trait if other in trait.implied)
        assert f"| `{trait}` | {trait.meaning} | {implied} |\n" in page
