"""The declaration of an operator: `op: NAME(TYPE ARG, TYPE ARG = DEFAULT)`."""

from __future__ import annotations

import pytest

from spec_model.load.single_spec import find_spec, single_spec_text
from spec_model.templates import Directory
from tests.codegen.small_project import Project

MAP = "op: aten.add.Tensor\nargs:\n  a: tensor\n  b: tensor\n  alpha: float = 1.0\n"
ADD = "op_specs/add.yaml"


def declare(project: Project, declaration: str) -> None:
    """Replaces the map of arguments, lines 2 to 6, by a declaration."""
    project.spec(MAP, f"op: {declaration}\n")


@pytest.mark.parametrize(
    "declaration",
    [
        "aten.add.Tensor(tensor a, tensor b, float alpha = 1.0)",
        "aten.add.Tensor( tensor  a,tensor b,float alpha=1.0 )",
        "aten.add.Tensor(tensor a,\n  tensor b, float\n  alpha = 1.0)",
    ],
)
def test_a_declaration_equals_a_map(project: Project, declaration: str) -> None:
    expected = project.load().ops["aten.add.Tensor"]
    declare(project, declaration)
    op = project.load().ops["aten.add.Tensor"]
    assert [(a.name, a.type, a.default) for a in op.args] == [
        (a.name, a.type, a.default) for a in expected.args
    ]
    assert [v.id for v in op.variants] == [v.id for v in expected.variants]


def test_every_type_and_default(project: Project) -> None:
    more = "int[2] s = [3, 4], int[2] t = s, tensor? c, str mode = none, int[] d = []"
    declare(project, f"aten.add.Tensor(tensor a, tensor b, float alpha = 1.0, {more})")
    *_, s, t, c, mode, d = project.load().ops["aten.add.Tensor"].args
    assert (s.default, s.length, t.default_of) == ((3, 4), 2, "s")
    assert (c.optional, mode.default, d.default) == (True, "none", ())


@pytest.mark.parametrize(
    ("declaration", "at", "message"),
    [
        (
            "aten.add.Tensor(tensor a, tensor b",
            "2:38",
            "The arguments of an op end with ')'; expected NAME(TYPE ARG, TYPE ARG = DEFAULT).",
        ),
        (
            "aten.add.Tensor(tensor a, b)",
            "2:31",
            "Argument 'b' is not TYPE NAME or TYPE NAME = DEFAULT.",
        ),
        ("aten.add.Tensor(tensor a, tensor a)", "2:38", "Argument 'a' is repeated."),
        (
            "aten.add.Tensor(tensor a, tensr b)",
            "2:31",
            "Argument type 'tensr' is not one of: tensor, tensor<DTYPE>, tensor<any>, tensor?, "
            "tensor[], int, float, number, bool, str, int[], int[N].",
        ),
        (
            "aten.add.Tensor(tensor a,\n  tensor b, float alpha = one)",
            "3:27",
            "Name 'one' is unknown here; known names are: (none).",
        ),
        (
            "aten.add.Tensor(tensor a, tensor b, float alpha =\n  one)",
            "3:3",
            "Name 'one' is unknown here; known names are: (none).",
        ),
        (
            "aten.add.Tensor(tensor a, tensor b, float _x)",
            "2:47",
            "Name '_x' is not a name: letters, digits and single '_' between them.",
        ),
    ],
)  # fmt: skip
def test_errors_in_a_declaration(project: Project, declaration: str, at: str, message: str) -> None:
    declare(project, declaration)
    project.rejects(f"{ADD}:{at}: error: {message}")


def test_arguments_are_declared_once(project: Project) -> None:
    project.spec("op: aten.add.Tensor\n", "op: aten.add.Tensor(tensor a)\n")
    message = "'args' repeats the arguments, which 'op' declares; use one of them."
    project.rejects(f"{ADD}:3:1: error: {message}")


def test_a_single_spec_lists_the_arguments(project: Project) -> None:
    declare(project, "aten.add.Tensor(tensor a, tensor b, float alpha = 1.0)")
    directory = Directory(project.root / "op_specs", "op_specs")
    spec = find_spec("add", directory)
    assert spec is not None
    assert MAP in single_spec_text(spec, "add", project.load().templates)


def test_further_lines_of_an_expression_have_positions(project: Project) -> None:
    project.spec("reference: a + alpha * b", "reference: a +\n  alpha * c")
    message = "Name 'c' is neither an arg (a, b, alpha), np, nor a module in op_specs."
    project.rejects(f"{ADD}:15:11: error: {message}")


OUTPUTS = 'outputs:\n  y: {shape: "broadcast(a.shape, b.shape)", dtype: a.dtype}\n'


@pytest.mark.parametrize(
    "declaration",
    [
        "aten.add.Tensor(tensor a, tensor b, float alpha = 1.0) -> y like a",
        "aten.add.Tensor( tensor a,tensor b, float alpha=1.0 )->y  like a",
        "aten.add.Tensor(tensor a, tensor b, float alpha = 1.0)\n  -> y\n  like a",
    ],
)
def test_declared_outputs_equal_a_map(project: Project, declaration: str) -> None:
    project.spec(OUTPUTS, "outputs: {y: like a}\n")
    (expected,) = project.load().ops["aten.add.Tensor"].outputs
    project.spec("outputs: {y: like a}\n", "")
    declare(project, declaration)
    (output,) = project.load().ops["aten.add.Tensor"].outputs
    assert (output.name, output.shape, output.dtype) == ("y", expected.shape, expected.dtype)


def test_outputs_of_a_name_alone(project: Project) -> None:
    project.spec(OUTPUTS, "")
    project.spec("op: aten.add.Tensor\n", "op: aten.add.Tensor -> y like b\n")
    (output,) = project.load().ops["aten.add.Tensor"].outputs
    assert (output.name, str(output.position)) == ("y", f"{ADD}:2:24")


def test_several_outputs(project: Project) -> None:
    project.spec(OUTPUTS, "")
    declare(project, f"{DECLARED} -> y like a, z like b")
    assert [output.name for output in project.load().ops["aten.add.Tensor"].outputs] == ["y", "z"]


DECLARED = "aten.add.Tensor(tensor a, tensor b, float alpha = 1.0)"


@pytest.mark.parametrize(
    ("outputs", "at", "message"),
    [
        ("y", "2:63", "Output 'y' is not NAME like ARG; other outputs are in the map 'outputs'."),
        ("y lik a", "2:63",
         "Output 'y lik a' is not NAME like ARG; other outputs are in the map 'outputs'."),
        ("y like c", "2:65",
         "An output is '{shape: EXPR, dtype: EXPR}' or 'like ARG', ARG one of: a, b."),
        ("y like a, y like b", "2:73", "Output 'y' is repeated."),
        ("a like b", "2:63", "Name 'a' is in use; choose another."),
    ],
)  # fmt: skip
def test_errors_in_declared_outputs(project: Project, outputs: str, at: str, message: str) -> None:
    project.spec(OUTPUTS, "")
    declare(project, f"{DECLARED} -> {outputs}")
    project.rejects(f"{ADD}:{at}: error: {message}")


def test_outputs_are_declared_once(project: Project) -> None:
    declare(project, f"{DECLARED} -> y like a")
    message = "'outputs' repeats the outputs, which 'op' declares; use one of them."
    project.rejects(f"{ADD}:3:1: error: {message}")
