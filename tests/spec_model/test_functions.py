"""Functions that specs define in `let`."""

from __future__ import annotations

import pytest

from spec_model.expr.types import Expr, Kind, Literal
from spec_model.spec import Let
from tests.codegen.small_project import Project

ADD = "op_specs/add.yaml"
LET = "let:\n  {}\noutputs:"


def defined(project: Project, *lines: str) -> Project:
    """The project with definitions, whose push constant is `n`."""
    project.spec("outputs:", LET.format("\n  ".join(lines)))
    project.spec("{alpha: alpha}", "{alpha: alpha, m: n}")
    return project


def value(project: Project) -> Expr:
    """The value of the only name of `let`."""
    (step,) = project.load().ops["aten.add.Tensor"].steps
    assert isinstance(step, Let)
    return step.value


@pytest.mark.parametrize(
    ("function", "call", "same"),
    [
        ("last(t): t.shape[t.rank - 1]", "last(a) + last(b)",
         "a.shape[a.rank - 1] + b.shape[b.rank - 1]"),
        ("larger(v, w): v if v > w else w", "larger(a.rank, 2)", "a.rank if a.rank > 2 else 2"),
        ("half(v): v / 2", "int(half(3) + half(a.rank))", "int(1.5 + a.rank / 2)"),
        ('ones(t): "len([d for d in range(t.rank) if t.shape[d] == 1])"', "ones(b)",
         "len([d for d in range(b.rank) if b.shape[d] == 1])"),
        ("same(t): t.dtype == a.dtype", "1 if same(b) else 0", "1 if b.dtype == a.dtype else 0"),
    ],
)  # fmt: skip
def test_a_call_is_its_expression(project: Project, function: str, call: str, same: str) -> None:
    defined(project, function, f'n: "{call}"')
    expanded = value(project)
    project.edit(ADD, f"  {function}\n", "")
    project.edit(ADD, call, same)
    assert value(project) == expanded


def test_functions_call_earlier_ones(project: Project) -> None:
    defined(project, "twice(v): v + v", "four(v): twice(twice(v))", "n: four(3)")
    assert value(project) == Literal(Kind.INT, 12)


def test_kernels_call_functions(project: Project) -> None:
    defined(project, "twice(v): v + v", "n: a.rank")
    project.spec("m: n}", "m: twice(n)}\n  grid: twice(numel(y))")
    kernel = project.load().ops["aten.add.Tensor"].kernels[0]
    assert kernel.grid[0].names == {"y"}


def test_functions_of_a_template(project: Project) -> None:
    project.edit(
        "templates/glsl/binary.yaml",
        "push:\n  n: numel(y)",
        "spec:\n  let:\n    n: twice(a.rank)\n    twice(v): v + v\n    unused(v): v\npush:\n  n: n",
    )
    assert project.load().ops["aten.add.Tensor"].kernels[0].push[0].value.names == {"n"}


@pytest.mark.parametrize(
    ("lines", "position", "message"),
    [
        (["f(t): t.rnk", "n: f(a)"], "8:9",
         "Attribute 'rnk' is unknown for tensor; known are: shape, rank, dtype, storage. "
         f"(In f(t), called at {ADD}:9:6.)"),
        (["f(t): t.rank", "n: f(a, b)"], "9:6", "f(t) has 2 arguments; expected 1."),
        (["f(v): v", "n: a.rank"], "8:3", "f(v) is not used; remove it."),
        (["f(v): f(v)", "n: f(1)"], "8:9", None),
        (["n: g(1)", "g(v): v"], "8:6", None),
        (["len(v): v", "n: a.rank"], "8:3", "Function 'len' exists already; rename it."),
        (["f(a): a", "n: a.rank"], "8:3", "Name 'a' is in use; choose another."),
        (["f(v, v): v", "n: a.rank"], "8:3", "Parameter 'v' is repeated."),
        (["f(): 1", "n: a.rank"], "8:3", None),
        (["f(v, w): v + w", "n: f(w=1, v=2)"], "9:8", "Functions do not accept keyword arguments."),
    ],
)  # fmt: skip
def test_invalid_functions(
    project: Project, lines: list[str], position: str, message: str | None
) -> None:
    defined(project, *lines)
    with pytest.raises(Exception) as error:
        project.load()
    text = str(error.value).splitlines()[0]
    assert text.startswith(f"{ADD}:{position}: error: ")
    if message is not None:
        assert text.endswith(message)


def test_a_loop_variable_is_not_captured(project: Project) -> None:
    lines = ['f(v): "sum([d * v for d in range(3)])"', 'n: "sum([f(d) for d in range(2)])"']
    defined(project, *lines)
    project.rejects(
        f"{ADD}:8:25: error: Name 'd' is in use; choose another. "
        f"(In f(v), called at {ADD}:9:12.)"
    )


def test_the_size_of_calls_is_limited(project: Project) -> None:
    lines = ["f0(v): v + v + v + v + v + v + v + v + v + v"]
    lines += [f"f{i + 1}(v): f{i}(f{i}(v))" for i in range(5)]
    defined(project, *lines, "n: f5(a.rank)")
    with pytest.raises(Exception, match=r"The calls expand to more than 10000 operations; define"):
        project.load()
