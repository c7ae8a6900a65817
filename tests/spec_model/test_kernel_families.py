"""`for` in an item of `kernels`: a kernel for each entry."""

from __future__ import annotations

import pytest

from spec_model.load.single_spec import find_spec, single_spec_text
from spec_model.templates import Directory
from tests.codegen.small_project import Project

ADD = "op_specs/add.yaml"
KERNELS = """\
kernels:
  - for:
      add_v4: {least: 4, prefer: numel(y) > 64}
      add_v1: {least: 1, dtypes: [f32]}
    template: binary.glsl.j2
    when: numel(y) >= $least
    params: {expr: a + b * alpha, scale: $least}
  - {name: add, template: binary.glsl.j2, params: {expr: a + b * alpha}}
"""


@pytest.fixture
def family(project: Project) -> Project:
    """The project, with three kernels; two of them are entries of `for`."""
    text = (project.root / ADD).read_text()
    kernel = text[text.index("kernel:") : text.index("reference:")]
    project.write(ADD, text.replace(kernel, KERNELS))
    return project


def test_a_kernel_for_each_entry(family: Project) -> None:
    v4, v1, last = family.load().ops["aten.add.Tensor"].kernels
    assert [kernel.name for kernel in (v4, v1, last)] == ["add_v4", "add_v1", "add"]
    assert [kernel.params["scale"] for kernel in (v4, v1, last)] == [4, 1, 2]
    assert v4.texts == {"when": "numel(y) >= 4", "prefer": "numel(y) > 64"}
    assert v1.texts == {"when": "numel(y) >= 1"}
    assert [len(kernel.axes[0].values) for kernel in (v4, v1)] == [2, 1]
    assert str(v4.position) == f"{ADD}:11:7"


def test_they_equal_kernels_of_their_own(family: Project) -> None:
    expected = [variant.id for variant in family.load().variants]
    body = "template: binary.glsl.j2, params: {expr: a + b * alpha"
    family.edit(
        ADD,
        KERNELS,
        "kernels:\n"
        f"  - {{name: add_v4, {body}, scale: 4}}, when: numel(y) >= 4, prefer: numel(y) > 64}}\n"
        f"  - {{name: add_v1, {body}, scale: 1}}, when: numel(y) >= 1, dtypes: f32}}\n"
        f"  - {{name: add, {body}}}}}\n",
    )
    assert [variant.id for variant in family.load().variants] == expected


def test_in_a_kernel_set(family: Project) -> None:
    family.write("templates/glsl/sums.kernels.yaml", KERNELS.replace("add", "sum"))
    family.edit(ADD, KERNELS, "kernels:\n  - {use: sums, omit: sum_v1}\n")
    kernels = family.load().ops["aten.add.Tensor"].kernels
    assert [kernel.name for kernel in kernels] == ["add_sum_v4", "add_sum"]


def test_the_text_of_one_operator(family: Project) -> None:
    spec = find_spec("add", Directory(family.root / "op_specs", "op_specs"))
    assert spec is not None
    text = single_spec_text(spec, "add", family.load().templates)
    assert "$" not in text and "- name: add_v1\n" in text


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        ("least: 1", "most: 1", "12:16", "'most' is neither a variable of the kernel nor a key; "
         "variables are: least."),
        ("{least: 1, dtypes: [f32]}", "{dtypes: [f32]}", "14:23",
         "'add_v1' (op_specs/add.yaml:12:7) has no value of '$least'."),
        ("{least: 1, dtypes: [f32]}", "1", "12:15",
         "A map is expected for kernel 'add_v1', not '1'."),
        ("add_v1:", "V1:", "12:7",
         "Kernel 'V1' is not a name: lower-case letters, digits and single '_' between them."),
        ("numel(y) >= $least", "numel(z) >= $least", "14:17",
         "Name 'z' is unknown here; known names are: a, b, alpha, y. (For add_v4.)"),
        ("dtypes: [f32]", "dtypes: f64", "12:34", "DType 'f64' is not one of: f32, f16, i32, i8, "
         "u8, b8, f8_e4m3, f8_e5m2, bf16, floats, ints, numbers, all, stored_floats. "
         "(For add_v1.)"),
        ("    template: binary.glsl.j2\n", "", "10:5",
         "Key 'template' is missing from a kernel."),
    ],
)  # fmt: skip
def test_messages(family: Project, old: str, new: str, at: str, message: str) -> None:
    family.spec(old, new)
    family.rejects(f"{ADD}:{at}: error: {message}")


def test_an_empty_for(family: Project) -> None:
    rows = KERNELS[KERNELS.index("for:") : KERNELS.index("    template")]
    family.spec(rows, "for: {}\n")
    family.rejects(f"{ADD}:10:10: error: 'for' has no kernel.")
