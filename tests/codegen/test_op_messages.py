"""What an operator must be beyond its single keys: every mistake at its line and column."""

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
            "A view has one output, not 2: it shares one's elements.",
        ),
        (
            "kernel:\n",
            "updates: alpha\nkernel:\n",
            "9:10",
            "'alpha' is not a tensor argument.",
        ),
        (
            "kernel:\n",
            "updates: a\nkernel:\n",
            "9:10",
            "An op that updates 'a' has one output, which is 'like a'.",
        ),
        (
            OUTPUT + "kernel:\n",
            "  y: like a\nupdates: a\nkernel:\n",
            "11:3",
            "Kernel 'add' binds 'a', which the op updates: the output holds its elements already. "
            "Say 'tensors: {a: none}'.",
        ),
        (
            OUTPUT + "kernel:\n",
            "  y: like a\nupdates: a\nkernel:\n  tensors: {a: none}\n",
            "11:3",
            "Kernel 'add' updates 'a' elsewhere than in a buffer.",
        ),
        (
            OUTPUT + "kernel:\n",
            "  y: like a\nupdates: {z: a}\nkernel:\n",
            "9:11",
            "'z' is not an output.",
        ),
        (
            "kernel:\n",
            "updates: {y: a}\nkernel:\n",
            "9:14",
            "Output 'y' updates 'a', but is not like it.",
        ),
        (
            "  params: {expr",
            "  tensors: {y: none}\n  params: {expr",
            "12:16",
            "Output 'y' is written by every kernel; it cannot be 'none'.",
        ),
        (
            "  params: {expr",
            "  tensors: {y: {access: read}}\n  params: {expr",
            "12:25",
            "Output 'y' is written by every kernel; its access is 'write' or 'readwrite'.",
        ),
        (
            "  params: {expr",
            "  tensors: {a: {access: readwrite}}\n  params: {expr",
            "12:25",
            "Argument 'a' is only read; a kernel writes its outputs alone.",
        ),
        (
            "  params: {expr",
            "  tensors: {b: {access: write}}\n  params: {expr",
            "12:25",
            "Argument 'b' is only read; a kernel writes its outputs alone.",
        ),
        (
            "outputs:\n",
            "let:\n  used: numel(a)\n  idle: used + 1\noutputs:\n",
            "9:3",
            "'idle' is used nowhere; remove it.",
        ),
        (
            "{alpha: alpha}",
            "{float: alpha}",
            "13:10",
            "Push constant 'float' is a word of GLSL; choose another.",
        ),
        (
            "  push: {alpha: alpha}",
            "  constants: {shared: a.rank}",
            "13:15",
            "Constant 'shared' is a word of GLSL; choose another.",
        ),
        (
            "  push: {alpha: alpha}",
            "  push: {mine: alpha}\n  constants: {mine: a.rank}",
            "13:10",
            "Push constant 'mine' is a specialisation constant already; rename one.",
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


def test_a_name_that_is_a_push_constant_too(project: Project) -> None:
    project.spec("outputs:\n", "let:\n  n: 3\nchecks: [n == numel(a)]\noutputs:\n")
    project.load()  # nothing asks which of both it is
    project.spec("  params: {expr", "  grid: n\n  params: {expr")
    project.rejects(
        f"{ADD}:15:9: error: Name 'n' means two things here, of which templates know the later "
        "one, a constant of the kernel; rename it."
    )


def test_a_required_scalar_without_a_case(project: Project) -> None:
    project.spec("alpha: float = 1.0", "alpha: float")
    project.spec("tests:\n  - {a: [2, 3], b: [3], alpha: 0.5}\n", "tests: []\n")
    project.rejects(
        f"{ADD}:6:10: error: Argument 'alpha' has no default; give it a value in a case of "
        "'tests', which the cases beside the template (templates/glsl/binary.yaml:6:5) then take "
        "too."
    )


def test_a_required_scalar_is_in_shared_cases_as_in_the_first_own(project: Project) -> None:
    project.spec("alpha: float = 1.0", "alpha: float")
    own, shared = project.load().ops["aten.add.Tensor"].tests
    assert (own.shared, shared.shared) == (False, True)
    assert shared.args["alpha"] == own.args["alpha"] == 0.5


def test_a_copy_that_would_need_copies(project: Project) -> None:
    project.spec("op: aten.add.Tensor", "op: spirloom.copy")
    project.spec("  params: {expr", "  tensors: {a: {storage: buffer}}\n  params: {expr")
    project.rejects(
        f"{ADD}:12:13: error: spirloom.copy brings tensors to other storages, so that its own 'a' "
        "must be taken from wherever a call has it."
    )


def test_packing_that_packs_for_itself(project: Project) -> None:
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
        f"{ADD}:12:41: error: Packing for aten.add.Tensor takes aten.add.Tensor itself: "
        "aten.add.Tensor -> spirloom.pack_b -> aten.add.Tensor.",
        "op_specs/other.yaml:12:41: error: Packing for spirloom.pack_b takes spirloom.pack_b "
        "itself: spirloom.pack_b -> aten.add.Tensor -> spirloom.pack_b.",
    )


def test_a_foreign_letter_in_glsl(project: Project) -> None:
    project.write(BINARY, TEMPLATE.replace("y = {{ expr }}", "ÿ = {{ expr }}"))
    project.rejects(
        f"{BINARY}:9:18: error: Character 'ÿ' is not part of GLSL; only comments may hold it."
    )


def test_foreign_letters_in_comments(project: Project) -> None:
    project.write(BINARY, "{# ÿ\nÿ #}\n// ÿ\n/* ÿ */\n" + TEMPLATE)
    project.load()
    assert "// ÿ" in project.glsl("add_f32_buffer")


def test_a_library_file_that_includes_itself(project: Project) -> None:
    project.write("templates/glsl/lib/again.glsl.j2", '\n  {% include "lib/again.glsl.j2" %}\n')
    project.edit(BINARY, "void main", '{% include "lib/again.glsl.j2" %}\nvoid main')
    project.rejects(
        "templates/glsl/lib/again.glsl.j2:2:3: error: Templates or macros call each other without "
        "end. (In variant add_f32_buffer.)"
    )
