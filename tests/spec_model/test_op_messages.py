"""Errors that involve several keys of a spec, at their line and column."""

from __future__ import annotations

import pytest

from tests.codegen.small_project import SPEC, TEMPLATE, Project

ADD = "op_specs/add.yaml"
BINARY = "templates/glsl/binary.glsl.j2"
OUTPUT = '  y: {shape: "broadcast(a.shape, b.shape)", dtype: a.dtype}\n'


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        (
            "kernel:\n",
            "  z: like a\nview_of: a\nkernel:\n",
            "10:10",
            "An op with 'view_of' must have one output; it has 2.",
        ),
        (
            "kernel:\n",
            "in_place: alpha\nkernel:\n",
            "9:11",
            "'alpha' is not a tensor argument.",
        ),
        (
            "kernel:\n",
            "in_place: a\nkernel:\n",
            "9:11",
            "An op that updates 'a' in place must have one output, 'like a'.",
        ),
        (
            OUTPUT + "kernel:\n",
            "  y: like a\nin_place: a\nkernel:\n",
            "11:3",
            "Kernel 'add' binds 'a', which the op updates in place: bind only the output. "
            "Add 'tensors: {a: none}'.",
        ),
        (
            OUTPUT + "kernel:\n",
            "  y: like a\nin_place: a\nkernel:\n  tensors: {a: none}\n",
            "11:3",
            "Kernel 'add' updates 'a' in place; it supports only buffers.",
        ),
        (
            OUTPUT + "kernel:\n",
            "  y: like a\nin_place: {z: a}\nkernel:\n",
            "9:12",
            "'z' is not an output.",
        ),
        (
            "kernel:\n",
            "in_place: {y: a}\nkernel:\n",
            "9:15",
            "Output 'y' updates 'a' in place; it must be 'like a'.",
        ),
        (
            "  params: {expr",
            "  tensors: {y: none}\n  params: {expr",
            "12:16",
            "Output 'y' must be bound by every kernel; it cannot be 'none'.",
        ),
        (
            "  params: {expr",
            "  tensors: {y: {access: read}}\n  params: {expr",
            "12:25",
            "Output 'y' must be written by every kernel; its access is 'write' or 'readwrite'.",
        ),
        (
            "  params: {expr",
            "  tensors: {a: {access: readwrite}}\n  params: {expr",
            "12:25",
            "Argument 'a' is read-only; a kernel writes only its outputs.",
        ),
        (
            "  params: {expr",
            "  tensors: {b: {access: write}}\n  params: {expr",
            "12:25",
            "Argument 'b' is read-only; a kernel writes only its outputs.",
        ),
        (
            "outputs:\n",
            "let:\n  used: numel(a)\n  idle: used + 1\noutputs:\n",
            "9:3",
            "'idle' is not used; remove it.",
        ),
        (
            "{alpha: alpha}",
            "{float: alpha}",
            "13:10",
            "Push constant 'float' is reserved in GLSL; choose another.",
        ),
        (
            "  push: {alpha: alpha}",
            "  constants: {shared: a.rank}",
            "13:15",
            "Constant 'shared' is reserved in GLSL; choose another.",
        ),
        (
            "  push: {alpha: alpha}",
            "  push: {mine: alpha}\n  constants: {mine: a.rank}",
            "13:10",
            "Push constant 'mine' is also a specialization constant; rename one.",
        ),
        (
            "alpha: float = 1.0\n",
            "alpha: float = 1.0\n  beta: float\n",
            "17:5",
            "Argument 'beta' is missing from the test case.",
        ),
    ],
)
def test_message_with_line_and_column(
    project: Project, old: str, new: str, at: str, message: str
) -> None:
    project.spec(old, new)
    project.rejects(f"{ADD}:{at}: error: {message}")


def test_name_of_a_let_and_a_push_constant(project: Project) -> None:
    project.spec("outputs:\n", "let:\n  n: 3\nchecks: [n == numel(a)]\noutputs:\n")
    project.load()  # no expression uses the ambiguous name
    project.spec("  params: {expr", "  grid: n\n  params: {expr")
    project.rejects(
        f"{ADD}:15:9: error: Name 'n' is ambiguous: it is also a constant of the kernel, which "
        "hides it in templates; rename the constant."
    )


def test_a_required_scalar_without_a_case(project: Project) -> None:
    project.spec("alpha: float = 1.0", "alpha: float")
    project.spec("tests:\n  - {a: [2, 3], b: [3], alpha: 0.5}\n", "tests: []\n")
    project.rejects(
        f"{ADD}:6:10: error: Argument 'alpha' has no default. Add a case to 'tests': the cases of "
        "the template (templates/glsl/binary.yaml:6:5) use its value."
    )


def test_shared_cases_use_the_required_scalar_of_the_first_case(project: Project) -> None:
    project.spec("alpha: float = 1.0", "alpha: float")
    own, shared = project.load().ops["aten.add.Tensor"].tests
    assert (own.shared, shared.shared) == (False, True)
    assert shared.args["alpha"] == own.args["alpha"] == 0.5


def test_copy_that_requires_copies(project: Project) -> None:
    project.spec("op: aten.add.Tensor", "op: spirloom.copy")
    project.spec("  params: {expr", "  tensors: {a: {storage: buffer}}\n  params: {expr")
    project.rejects(
        f"{ADD}:12:13: error: spirloom.copy copies between storages; its 'a' must accept the "
        "storage of the call: remove 'pack' and fixed storages."
    )


def test_recursive_packing(project: Project) -> None:
    other = SPEC.replace("aten.add.Tensor", "spirloom.pack_b").replace(
        "  params: {expr",
        '  tensors: {a: {storage: buffer, pack: "aten.add.Tensor(a, b)"}}\n  params: {expr',
    )
    project.write("op_specs/other.yaml", other)
    project.spec(
        "  params: {expr",
        '  tensors: {b: {storage: buffer, pack: "spirloom.pack_b(a, b)"}}\n  params: {expr',
    )
    project.rejects(
        f"{ADD}:12:41: error: Packing for aten.add.Tensor calls aten.add.Tensor: "
        "aten.add.Tensor -> spirloom.pack_b -> aten.add.Tensor.",
        "op_specs/other.yaml:12:41: error: Packing for spirloom.pack_b calls "
        "spirloom.pack_b: spirloom.pack_b -> aten.add.Tensor -> spirloom.pack_b.",
    )


def test_non_ascii_character_in_glsl(project: Project) -> None:
    project.write(BINARY, TEMPLATE.replace("y = {{ expr }}", "ÿ = {{ expr }}"))
    project.rejects(
        f"{BINARY}:9:18: error: Character 'ÿ' is not allowed in GLSL outside of comments."
    )


def test_non_ascii_characters_in_comments(project: Project) -> None:
    project.write(BINARY, "{# ÿ\nÿ #}\n// ÿ\n/* ÿ */\n" + TEMPLATE)
    project.load()
    assert "// ÿ" in project.glsl("add_f32_buffer")


def test_a_library_file_that_includes_itself(project: Project) -> None:
    project.write("templates/glsl/lib/again.glsl.j2", '\n  {% include "lib/again.glsl.j2" %}\n')
    project.edit(BINARY, "void main", '{% include "lib/again.glsl.j2" %}\nvoid main')
    project.rejects(
        "templates/glsl/lib/again.glsl.j2:2:3: error: Templates or macros call each other "
        "recursively without end. (In variant add_f32_buffer.)"
    )
