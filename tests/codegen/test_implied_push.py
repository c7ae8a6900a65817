"""Scalar arguments and values of `let` that the GLSL of a kernel names are push constants without a
`push` entry."""

from __future__ import annotations

import pytest

from codegen.generate import render_all
from spec_model.load.push import used_scalars
from tests.codegen.small_project import Project

TEMPLATE = "templates/glsl/binary.glsl.j2"


@pytest.fixture
def implied(project: Project) -> Project:
    project.spec("  push: {alpha: alpha}\n", "")
    return project


def pushed(project: Project) -> list[tuple[str, str, int]]:
    (kernel,) = project.load().ops["aten.add.Tensor"].kernels
    return [(member.name, member.type, member.offset) for member in kernel.push]


def test_equals_an_explicit_entry(project: Project) -> None:
    explicit = pushed(project)
    project.spec("  push: {alpha: alpha}\n", "")
    assert pushed(project) == explicit == [("n", "int", 0), ("alpha", "float", 4)]
    render_all(project.load(), complete=False)


def test_names_in_the_template(implied: Project) -> None:
    implied.spec("expr: a + b * alpha", "expr: a + b")
    assert pushed(implied) == [("n", "int", 0)]
    implied.edit(TEMPLATE, "void main", "float scaled(float v) { return alpha * v; }\nvoid main")
    assert pushed(implied) == [("n", "int", 0), ("alpha", "float", 4)]


def test_entries_of_push_come_first(implied: Project) -> None:
    implied.spec(
        "alpha: float = 1.0", "alpha: number = 1.0\n  beta: int = 2\n  gamma: bool = false"
    )
    implied.spec("expr: a + b * alpha", "expr: 'a + b * alpha * (gamma != 0 ? beta : k)'")
    implied.spec("  params:", "  push: {beta: beta, k: a.rank}\n  params:")
    assert [name for name, _, _ in pushed(implied)] == ["n", "beta", "k", "alpha", "gamma"]
    assert [kind for _, kind, _ in pushed(implied)] == ["int", "int", "int", "float", "int"]


def test_constants_are_no_push_constants(implied: Project) -> None:
    implied.spec("  params:", "  constants: {alpha: alpha}\n  params:")
    assert pushed(implied) == [("n", "int", 0)]


LET = """\
let: {shape: a.shape, sizes: "[a.rank, b.rank]", rows: "numel(a) + len(shape) + sizes[0]",
  shift: 0.5 * alpha * rows}
outputs:"""
LIBRARY = "templates/glsl/lib/part.glsl.j2"


@pytest.fixture
def with_let(project: Project) -> Project:
    project.spec("outputs:", LET)
    project.spec("expr: a + b * alpha", "expr: a + b * shift + sizes.x + rows")
    project.spec("  push: {alpha: alpha}\n", "")
    return project


def test_values_of_let_follow_arguments(with_let: Project) -> None:
    with_let.edit(TEMPLATE, "void main", "float scaled(float v) { return alpha * v; }\nvoid main")
    assert pushed(with_let) == [
        ("n", "int", 0),
        ("alpha", "float", 4),
        ("sizes", "int", 8),
        ("rows", "int", 16),
        ("shift", "float", 20),
    ]
    render_all(with_let.load(), complete=False)


def test_values_of_let_without_use_are_not_pushed(with_let: Project) -> None:
    with_let.spec("* shift + sizes.x + rows", "* shift")
    assert [name for name, _, _ in pushed(with_let)] == ["n", "shift"]


def test_none_removes_an_implied_value(with_let: Project) -> None:
    with_let.spec("  params:", "  push: {rows: none}\n  params:")
    assert [name for name, _, _ in pushed(with_let)] == ["n", "sizes", "shift"]


def test_none_removes_nothing_else(with_let: Project) -> None:
    with_let.spec("  params:", "  push: {shape: none}\n  params:")
    with_let.rejects(
        "op_specs/add.yaml:14:10: error: 'shape' is not one of the defaults that 'none' can "
        "remove: n."
    )


@pytest.mark.parametrize(
    ("library", "names"),
    [
        ("const int rows = 3;\n", ["n", "sizes", "shift"]),
        ("#define rows 3\n", ["n", "sizes", "shift"]),
        ("int twice(int rows) { return 2 * rows; }\n", ["n", "sizes", "rows", "shift"]),
    ],
)
def test_a_global_name_of_a_library_file_hides_a_value(
    with_let: Project, library: str, names: list[str]
) -> None:
    with_let.write(LIBRARY, library)
    with_let.edit(TEMPLATE, "void main", '{% include "lib/part.glsl.j2" %}\nvoid main')
    assert [name for name, _, _ in pushed(with_let)] == names


def test_words_of_glsl_are_no_values(with_let: Project) -> None:
    with_let.spec("let: {", "let: {out: a.rank, ")
    with_let.spec("+ sizes[0]", "+ sizes[0] + out")
    with_let.edit(TEMPLATE, "void main", "void f(out float x) { x = 1.0; }\nvoid main")
    assert [name for name, _, _ in pushed(with_let)] == ["n", "sizes", "rows", "shift"]


def test_reserved_names_are_errors_at_the_argument(implied: Project) -> None:
    implied.spec("alpha: float = 1.0", "sample: float = 1.0")
    implied.spec("b * alpha", "b * sample")
    implied.spec("alpha: 0.5", "sample: 0.5")
    implied.rejects(
        "op_specs/add.yaml:6:11: error: Push constant 'sample' is reserved in GLSL; choose another."
    )


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("x * alpha", True),
        ("return alpha;", True),
        ("f(a, alpha)", True),
        ("{{ expr }} * alpha", True),
        ("int alpha = 1; x * alpha", False),
        ("int a, alpha; x * alpha", False),
        ("float f(int a, float alpha) { return alpha; }", False),
        ("{{ t.y.type }} alpha = x; x * alpha", False),
        ("{{ alpha }}{% set alpha = 1 %}{# alpha #}", False),
        ("// alpha\n/* alpha */", False),
        ("x.alpha + alphas", False),
        ("{{ 32 // bits }} + k }}\nalpha + 1", True),
    ],
)
def test_uses(text: str, used: bool) -> None:
    assert used_scalars([text], ["alpha"]) == ({"alpha"} if used else set())
