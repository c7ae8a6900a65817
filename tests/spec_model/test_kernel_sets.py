"""Kernel sets: kernels that several specs use."""

from __future__ import annotations

import pytest

from spec_model import load_library
from spec_model.load.single_spec import single_spec_text
from spec_model.vocabulary import DType
from tests.codegen.small_project import Project

DTYPES = ", ".join(DType)

ADD = "op_specs/add.yaml"
SET = "templates/glsl/sums.kernels.yaml"
KERNELS = """\
# Sums.
kernels:
  - name: wide
    template: binary.glsl.j2
    dtypes: [f32]
    prefer: numel(y) > 64
  - name: wide_f16
    template: binary.glsl.j2
    dtypes: [f16]
    prefer: numel(y) > 64
  - name: naive
    template: binary.glsl.j2
    dtypes: [floats]
"""
USE = """\
kernels:
  - use: sums
    with:
      params: {expr: "a + b * alpha"}
      push: {alpha: alpha}
"""


@pytest.fixture
def sums(project: Project) -> Project:
    """The project, whose spec uses a kernel set."""
    project.write(SET, KERNELS)
    text = (project.root / ADD).read_text()
    kernel = text[text.index("kernel:") : text.index("reference:")]
    project.write(ADD, text.replace(kernel, USE))
    return project


def names(project: Project) -> list[str]:
    return [kernel.name for kernel in project.load().ops["aten.add.Tensor"].kernels]


def test_kernels_are_named_after_the_spec(sums: Project) -> None:
    kernels = sums.load().ops["aten.add.Tensor"].kernels
    assert [kernel.name for kernel in kernels] == ["add_wide", "add_wide_f16", "add_naive"]
    assert {kernel.params["expr"] for kernel in kernels} == {"a + b * alpha"}
    assert str(kernels[0].position) == f"{SET}:3:11"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("only: [naive]", ["add_naive"]),
        ("only: [wide*, naive]", ["add_wide", "add_wide_f16", "add_naive"]),
        ("omit: [wide]", ["add_wide_f16", "add_naive"]),
        ("omit: [wide*]", ["add_naive"]),
    ],
)
def test_some_kernels_of_a_set(sums: Project, keys: str, expected: list[str]) -> None:
    sums.spec("use: sums", f"use: sums\n    {keys}")
    assert names(sums) == expected


def test_overrides_apply_in_order(sums: Project) -> None:
    sums.spec(
        "use: sums",
        "use: sums\n    override:\n      wide*: {prefer: numel(y) > 8, workgroup: [32, 1, 1]}\n"
        "      wide: {name: add_v4, workgroup: [128, 1, 1]}",
    )
    assert names(sums) == ["add_v4", "add_wide_f16", "add_naive"]
    kernels = sums.load().ops["aten.add.Tensor"].kernels
    assert [kernel.workgroup[0] for kernel in kernels] == [128, 32, 64]


def test_the_prefix_of_names(sums: Project) -> None:
    sums.spec("use: sums", "use: sums\n    prefix: plus")
    assert names(sums) == ["plus_wide", "plus_wide_f16", "plus_naive"]


def test_a_set_among_other_kernels(sums: Project) -> None:
    own = "template: binary.glsl.j2\n    dtypes: [i32]\n    params: {expr: a}\n"
    sums.spec("kernels:\n", f"kernels:\n  - {own}")
    sums.spec("alpha: alpha}\n", f"alpha: alpha}}\n  - name: add_last\n    {own}")
    assert names(sums) == ["add", "add_wide", "add_wide_f16", "add_naive", "add_last"]


def test_two_specs_share_a_set(sums: Project) -> None:
    text = (sums.root / ADD).read_text()
    text = text.replace("aten.add.Tensor", "aten.plus").replace(
        "overloads: [aten.add.Scalar]\n", ""
    )
    sums.write("op_specs/plus.yaml", text)
    assert sums.load().ops["aten.plus"].kernels[0].name == "plus_wide"


@pytest.mark.parametrize(
    ("old", "new", "position", "message"),
    [
        ("use: sums", "use: sum", "10:10", "Kernel set 'sum' is not one of: sums."),
        (
            "use: sums",
            "use: sums\n    omit: [tall]",
            "11:12",
            "'tall' is none of the used kernels of set 'sums': wide, wide_f16, naive.",
        ),
        (
            "use: sums",
            "use: sums\n    only: [naive]\n    override: {wide: {}}",
            "12:16",
            "'wide' is none of the used kernels of set 'sums': naive.",
        ),
        (
            "use: sums",
            "use: sums\n    when: a.rank > 1",
            "11:5",
            "Key 'when' is unknown in a use of a kernel set; known keys are: use, prefix, "
            "only, omit, with, override.",
        ),
        (
            "params: {expr",
            "name: x\n      params: {expr",
            "12:7",
            "Key 'name' is unknown in 'with'; known keys are: template, extends, when, prefer, "
            "loop_iterations, long_loops, dtypes, storages, unsupported_storage, axes, where, "
            "auto_inserted, tensors, access, intermediates, optional_args, params, "
            "alternatives, push, "
            "constants, "
            "workgroup, grid, repeat, concat_offset, needs, portable, test_only.",
        ),
    ],
)
def test_invalid_uses(sums: Project, old: str, new: str, position: str, message: str) -> None:
    sums.spec(old, new)
    sums.rejects(f"{ADD}:{position}: error: {message}")


def test_errors_in_a_set_name_both_files(sums: Project) -> None:
    sums.edit(SET, "dtypes: [f32]", "dtypes: [f64]")
    sums.rejects(
        f"{SET}:5:14: error: DType 'f64' is not one of: {DTYPES}, floats, ints, "
        f"numbers, all, stored_floats. (Used at {ADD}:10:10.)"
    )


def test_a_set_has_kernels_with_distinct_names(sums: Project) -> None:
    sums.edit(SET, "name: wide_f16", "name: wide")
    sums.rejects(f"{SET}:7:11: error: Kernel 'wide' is repeated. (Used at {ADD}:10:10.)")
    sums.write(SET, "kernels: []\n")
    sums.rejects(f"{SET}:1:10: error: List of kernels is empty. (Used at {ADD}:10:10.)")


def test_names_of_kernels_are_unique(sums: Project) -> None:
    sums.spec("use: sums", "use: sums\n    override: {wide*: {name: add_v4}}")
    sums.rejects(f"{ADD}:11:30: error: Kernel 'add_v4' is also defined at {ADD}:11:30; rename one.")


def test_a_set_is_an_input(sums: Project) -> None:
    assert SET in sums.load().templates.files


def test_the_text_without_sets(sums: Project) -> None:
    library = sums.load()
    (source,) = library.specs
    text = single_spec_text(source, "add", library.templates)
    assert "use:" not in text
    assert text.startswith((sums.root / ADD).read_text().partition("kernels:")[0])
    sums.write(ADD, text)
    again = load_library([sums.root / "op_specs"], [sums.root / "templates/glsl"], sums.root)
    assert [v.id for v in again.variants] == [v.id for v in library.variants]
