"""An item of `tests` with a list of values for an argument is a case for each."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from spec_model.spec import TensorCase
from tests.codegen.small_project import Project

ADD = "op_specs/add.yaml"
CASE = "{a: [2, 3], b: [3], alpha: 0.5}"


def cases(project: Project) -> list[Mapping[str, object]]:
    """The arguments of the cases of `tests`."""
    tests = project.load().ops["aten.add.Tensor"].tests
    return [case.args for case in tests if not case.shared]


def shapes(project: Project, name: str) -> list[object]:
    values = [case[name] for case in cases(project)]
    return [value.shape if isinstance(value, TensorCase) else value for value in values]


def test_a_case_for_each_number(project: Project) -> None:
    project.spec(CASE, "{a: [2, 3], b: [3], alpha: [0.5, 1, -2.0]}")
    assert [case["alpha"] for case in cases(project)] == [0.5, 1.0, -2.0]
    assert shapes(project, "a") == [(2, 3)] * 3


def test_a_case_for_each_tensor(project: Project) -> None:
    project.spec(CASE, "{a: [[2, 3], {shape: [4, 3], range: [0, 1]}, []], b: [3]}")
    assert shapes(project, "a") == [(2, 3), (4, 3), ()]
    assert shapes(project, "b") == [(3,)] * 3


def test_all_combinations(project: Project) -> None:
    project.spec(CASE, "{a: [[2, 3], [3]], b: [3], alpha: [1, 2]}")
    assert shapes(project, "a") == [(2, 3), (2, 3), (3,), (3,)]
    assert [case["alpha"] for case in cases(project)] == [1.0, 2.0, 1.0, 2.0]


def test_lists_of_ints_and_optional_tensors(project: Project) -> None:
    project.spec("  alpha: float = 1.0\n", "  alpha: float = 1.0\n  c: tensor?\n  d: int[] = []\n")
    project.spec("  params: {expr", "  tensors: {c: none}\n  params: {expr")
    project.spec(CASE, "{a: [2, 3], b: [3], c: [null, [3]], d: [[1], [], [0, 1]]}")
    assert shapes(project, "c") == [None, None, None, (3,), (3,), (3,)]
    assert [case["d"] for case in cases(project)] == [(1,), (), (0, 1)] * 2
    project.spec("c: [null, [3]], d: [[1], [], [0, 1]]", "c: null, d: [0, 1]")
    assert [case["d"] for case in cases(project)] == [(0, 1)]


def test_in_shapes_of_a_template(project: Project) -> None:
    project.edit("templates/glsl/binary.yaml", "{a: [7], b: [7]}", "{a: [[7], [1]], b: [7]}")
    tests = project.load().ops["aten.add.Tensor"].tests
    assert [case.args["a"] for case in tests if case.shared] == [TensorCase((7,)), TensorCase((1,))]


@pytest.mark.parametrize(
    ("case", "at", "message"),
    [
        ("{a: [2, 3], b: [3], alpha: [1, x]}", "16:36",
         "Name 'x' is unknown here; known names are: (none)."),
        ("{a: [2, 3], b: [3], alpha: []}", "16:32", "A value is expected for 'alpha', not a list."),
        ("{a: [[2, 3], 3], b: [3]}", "16:18",
         "A list is expected for shape of 'a', not '3'."),
        (f"{{a: {[[3]] * 13}, b: [3], alpha: [1, 2, 3, 4, 5]}}", "16:5",
         "The lists of the case have 65 combinations; expected at most 64."),
        ("{a: [2, [3]], b: [3]}", "16:13", "A value is expected for a size, not a list."),
    ],
)  # fmt: skip
def test_errors(project: Project, case: str, at: str, message: str) -> None:
    project.spec(CASE, case)
    project.rejects(f"{ADD}:{at}: error: {message}")
