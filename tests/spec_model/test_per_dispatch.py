"""Lists of tensors of which a dispatch binds several elements."""

from __future__ import annotations

import pytest

from tests.codegen.small_project import Project

ADD = "op_specs/add.yaml"


def bind(project: Project, count: str) -> None:
    """Makes b a list of which each dispatch binds `count` elements."""
    project.spec("b: tensor", "b: tensor[]")
    project.spec('"broadcast(a.shape, b.shape)"', "a.shape")
    project.spec(
        "kernel:\n", f"kernel:\n  repeat: len(b)\n  tensors: {{b: {{per_dispatch: {count}}}}}\n"
    )


@pytest.mark.parametrize(
    ("count", "message"),
    [
        ("many", "An int is expected for 'per_dispatch', not 'many'."),
        ("1", "'per_dispatch' (1) must be from 2 to 15."),
        ("16", "'per_dispatch' (16) must be from 2 to 15."),
    ],
)
def test_counts(project: Project, count: str, message: str) -> None:
    bind(project, count)
    project.rejects(f"{ADD}:11:31: error: {message}")


def test_only_lists_have_several_elements(project: Project) -> None:
    project.spec("kernel:\n", "kernel:\n  tensors: {b: {per_dispatch: 2}}\n")
    project.rejects(
        f"{ADD}:10:31: error: 'b' is not a list; 'per_dispatch' is for lists of tensors."
    )


def test_too_many_bindings(project: Project) -> None:
    bind(project, "15")
    project.rejects(f"{ADD}:10:3: error: The kernel binds 17 tensors; the limit is 16.")
