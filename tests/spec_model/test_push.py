"""Entries of `push`: name → expression, or the name of a value alone."""

from __future__ import annotations

import pytest

from spec_model.load.single_spec import find_spec, single_spec_text
from spec_model.templates import Directory
from tests.codegen.small_project import Project

ADD = "op_specs/add.yaml"
PUSH = "  push: {alpha: alpha}\n"
LET = "let: {rows: numel(a), counts: a.shape}\noutputs:"


def pushed(project: Project) -> list[tuple[str, str, int]]:
    """Name, type and offset of the members of the push-constant block."""
    (kernel,) = project.load().ops["aten.add.Tensor"].kernels
    return [(member.name, member.type, member.offset) for member in kernel.push]


@pytest.mark.parametrize(
    "push",
    [
        "push: {twice: 2 * rows, rows, alpha}",
        "push:\n    twice: 2 * rows\n    rows:\n    alpha:",
        "push: {twice: 2 * rows, rows,\n    alpha}",
        "push: {twice: 2 * rows, rows: null, alpha: ~}",
    ],
)
def test_a_name_alone_pushes_the_value_of_that_name(project: Project, push: str) -> None:
    project.spec("outputs:", LET.replace(", counts: a.shape", ""))
    project.spec(PUSH, "  push: {twice: 2 * rows, rows: rows, alpha: alpha}\n")
    expected = pushed(project)
    assert expected[-3:] == [("twice", "int", 4), ("rows", "int", 8), ("alpha", "float", 12)]
    project.spec("push: {twice: 2 * rows, rows: rows, alpha: alpha}", push)
    assert pushed(project) == expected


@pytest.mark.parametrize(
    ("push", "at", "message"),
    [
        (
            "{rows, row}",
            "14:16",
            "Name 'row' is unknown here; known names are: a, b, alpha, rows, counts, y, storage, "
            "i, is_cpu, integrated, cores, subgroup_size, min_subgroup_size, max_subgroup_size, "
            "max_workgroup, shared_memory, storage_alignment, cache_size, quad_matrices, "
            "registers, max_loop_iterations, workgroup_size.",
        ),
        (
            "{alpha, counts}",
            "14:17",
            "The length of 'counts' is not constant; wrap it in pad_left(…, N, fill) with a "
            "literal N.",
        ),
        (
            "{alpha, a}",
            "14:17",
            "Expression is of type tensor; expected int or float or bool or ints.",
        ),
        (
            "{alpha: [1]}",
            "14:17",
            "A value is expected for push constant 'alpha', not a list.",
        ),
        ("{alpha, alpha}", "14:17", "Key 'alpha' is repeated; line 14 has it already."),
    ],
)  # fmt: skip
def test_errors_of_names(project: Project, push: str, at: str, message: str) -> None:
    project.spec("outputs:", LET)
    project.spec("push: {alpha: alpha}", f"push: {push}")
    project.rejects(f"{ADD}:{at}: error: {message}")


def test_a_single_spec_has_the_names(project: Project) -> None:
    project.spec("op: aten.add.Tensor\n", "for: {add: {field: alpha}}\nop: aten.$name.Tensor\n")
    project.spec("push: {alpha: alpha}", "push: {alpha, doubled: 2.0 * $field}")
    directory = Directory(project.root / "op_specs", "op_specs")
    spec = find_spec("add", directory)
    assert spec is not None
    text = single_spec_text(spec, "add", project.load().templates)
    assert "push: {alpha, doubled: 2.0 * alpha}\n" in text
