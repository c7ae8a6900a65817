"""The key `onnx`: names and arguments, and messages."""

from __future__ import annotations

import pytest

from spec_model.spec import OnnxArg
from tests.codegen.small_project import Project


def test_names_and_arguments(project: Project) -> None:
    project.spec("args:", "onnx: {Add: {}, com.acme.Axpy: {alpha: factor = 0.5}}\nargs:")
    first, second = project.load().ops["aten.add.Tensor"].onnx
    assert (first.name, first.args) == ("Add", ())
    assert (second.name, second.args) == ("com.acme.Axpy", (OnnxArg("alpha", "factor", 0.5),))


def test_lists_and_values(project: Project) -> None:
    project.spec("args:", "onnx: [Add, Plus]\nargs:")
    assert [m.name for m in project.load().ops["aten.add.Tensor"].onnx] == ["Add", "Plus"]
    project.spec("onnx: [Add, Plus]", "onnx: {Add: {alpha: 2.0}}")
    (mapping,) = project.load().ops["aten.add.Tensor"].onnx
    assert mapping.args == (OnnxArg("alpha", "", 2.0),)


@pytest.mark.parametrize(
    ("onnx", "message"),
    [
        ("Ad-d", "3:7: error: ONNX operator 'Ad-d' is invalid; expected a name such as Abs, or "
         "com.microsoft.Gelu with a domain."),
        ("{Add: {beta: b = 1}}", "3:14: error: 'beta' is not an argument that an attribute sets; "
         "they are: alpha."),
        ("{Add: {a: b = 1}}", "3:14: error: 'a' is not an argument that an attribute sets; they "
         "are: alpha."),
        ("{Add: {alpha: 2 b = 1}}", "3:21: error: Attribute '2 b' is not a name; expected "
         "'ATTRIBUTE = DEFAULT'."),
        ("{Add: {alpha: b = c}}", "3:21: error: Name 'c' is unknown here; known names are: "
         "(none)."),
        ("[Add, Add]", "3:13: error: ONNX operator 'Add' is also computed at "
         "op_specs/add.yaml:3:8; remove one."),
    ],
)  # fmt: skip
def test_messages(project: Project, onnx: str, message: str) -> None:
    project.spec("args:", f"onnx: {onnx}\nargs:")
    with project.fails(f"op_specs/add.yaml:{message}"):
        project.load()


def test_required_arguments(project: Project) -> None:
    project.spec("alpha: float = 1.0", "alpha: float")
    project.edit("templates/glsl/binary.yaml", "b: [7]}", "b: [7], alpha: 1}")
    project.spec("args:", "onnx: Add\nargs:")
    with project.fails(
        "op_specs/add.yaml:3:7: error: 'Add' does not set argument 'alpha', which has no default."
    ):
        project.load()
