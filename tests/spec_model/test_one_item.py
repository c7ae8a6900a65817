"""A list with one item may be written as the item."""

from __future__ import annotations

import pytest

from spec_model.spec import Check
from tests.codegen.small_project import Project

ADD = "op_specs/add.yaml"


def contents(project: Project) -> list[object]:
    """The parts of the operator that follow from lists."""
    op = project.load().ops["aten.add.Tensor"]
    (kernel,) = op.kernels
    return [
        *(op.traits, op.overloads, op.fused_from, kernel.needs),
        [mapping.name for mapping in op.executorch],
        [step.text for step in op.steps if isinstance(step, Check)],
        [variant.id for variant in op.variants],
        [(case.dtypes, case.storages) for case in op.tests],
    ]


@pytest.mark.parametrize(
    ("before", "key", "item"),
    [
        ("outputs:", "checks", "a.rank >= 1 and a.shape[0] > 0"),
        ("outputs:", "traits", "elementwise"),
        ("outputs:", "overloads", "aten.add.Scalar"),
        ("outputs:", "executorch", "aten.plus"),
        ("outputs:", "fused_from", "aten.add.Tensor"),
        ("  params:", "  needs", "shader_float16"),
    ],
)
def test_one_item_is_a_list_of_one(project: Project, before: str, key: str, item: str) -> None:
    plain = contents(project)
    project.spec(before, f"{key}: {item}\n{before}")
    one = contents(project)
    project.spec(f"{key}: {item}\n", f'{key}: ["{item}"]\n')
    assert contents(project) == one != plain


def test_one_dtype_or_group(project: Project) -> None:
    expected = contents(project)
    project.spec("dtypes: [f32, f16]", "dtypes: floats")
    assert contents(project) == expected
    project.spec("alpha: 0.5}", "alpha: 0.5, dtypes: floats, storages: texture}")
    one = contents(project)
    project.spec("dtypes: floats, storages: texture", "dtypes: [floats], storages: [texture]")
    assert contents(project) == one != expected


def test_items_of_a_spec_and_of_its_operators_add_up(project: Project) -> None:
    project.spec(
        "op: aten.add.Tensor\n", "for: {add: {checks: a.rank > 0}}\nop: aten.$name.Tensor\n"
    )
    project.spec("outputs:", "checks: b.rank > 0\noutputs:")
    assert contents(project)[5] == ["b.rank > 0", "a.rank > 0"]


@pytest.mark.parametrize(
    ("before", "text", "at", "message"),
    [
        ("outputs:", "checks: a.rank > c\n", "7:18", "Name 'c' is unknown here; known names are: "
         "a, b, alpha."),
        ("outputs:", "checks: null\n", "7:9", "A list is expected for 'checks', not null."),
        ("outputs:", "overloads: {add: 1}\n", "7:12", "A list is expected for 'overloads', not a "
         "map."),
        ("  params:", "  storages: bufer\n", "12:13", "Storage 'bufer' is not one of: buffer, "
         "texture3d, texture2d, texture."),
    ],
)  # fmt: skip
def test_errors(project: Project, before: str, text: str, at: str, message: str) -> None:
    project.spec(before, f"{text}{before}")
    project.rejects(f"{ADD}:{at}: error: {message}")
