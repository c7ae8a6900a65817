"""Errors in templates are reported with the template's line and column."""

from __future__ import annotations

import pytest

from tests.codegen.small_project import Project

TEMPLATE = "templates/glsl/binary.glsl.j2"
_KNOWN = (
    "access, activations, alternatives, constants, dtype, expr, float_format, needs, push, "
    "rnn_activations, "
    "scale, storage, t, tensors, unrolled, variant, workgroup"
)

ERRORS = [
    (
        "{{ scale }}",
        "{{ scael }}",
        f"6:34: error: 'scael' is undefined. Known names are: {_KNOWN}. "
        "(In variant add_f32_buffer.)",
    ),
    (
        "t.a.type",
        "t.z.type",
        f"9:8: error: 'z' is undefined. Known names are: {_KNOWN}. (In variant add_f32_buffer.)",
    ),
    (
        "t.a.type",
        "t.a.tpye",
        f"9:10: error: 'tpye' is undefined. Known names are: {_KNOWN}. "
        "(In variant add_f32_buffer.)",
    ),
    ("{{ expr }}", "{{ expr }", "9:30: error: Template does not parse: Unexpected '}'."),
    (
        "{% endif %}",
        "{% endfi %}",
        "7:4: error: Template does not parse: Encountered unknown tag "
        "'endfi'. Jinja was looking for the following tags: 'elif' or 'else' or 'endif'. "
        "The innermost "
        "block that needs to be closed is 'if'.",
    ),
    (
        "{{ scale }}",
        "{{ scale + 'a' }}",
        "6:1: error: Unsupported operand type(s) for +: 'int' and "
        "'str'. (In variant add_f32_buffer.)",
    ),
    (
        "{{ scale }}",
        "{{ scale | upcase }}",
        "6:42: error: No filter named 'upcase' found. (In variant add_f32_buffer.)",
    ),
    (
        "void main",
        '{% include "lib/gone.j2" %}\nvoid main',
        "8:13: error: Template 'lib/gone.j2' is not in any template directory.",
    ),
    (
        "void main",
        '{% include "../binary.yaml" %}\nvoid main',
        "8:13: error: Template '../binary.yaml' is not in any template directory.",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), ERRORS)
def test_message_with_line_and_column(project: Project, old: str, new: str, message: str) -> None:
    project.edit(TEMPLATE, old, new)
    project.rejects(f"{TEMPLATE}:{message}")


def test_error_in_an_included_file(project: Project) -> None:
    project.edit(TEMPLATE, "void main", '{% include "lib/part.glsl.j2" %}\nvoid main')
    project.write("templates/glsl/lib/part.glsl.j2", "int a;\nint {{ b }};\n")
    project.rejects(
        f"templates/glsl/lib/part.glsl.j2:2:8: error: 'b' is undefined. Known names are: {_KNOWN}. "
        "(In variant add_f32_buffer.)"
    )


def test_template_that_is_not_utf8(project: Project) -> None:
    project.write(TEMPLATE, b"void main() {}\n// \xe9t\xe9\n")
    project.rejects(f"{TEMPLATE}:2:4: error: Byte 0xe9 is not UTF-8; save the file as UTF-8.")


def test_param_with_the_name_of_a_builtin(project: Project) -> None:
    project.edit("templates/glsl/binary.yaml", "scale: 2", "storage: 2")
    project.rejects(
        "templates/glsl/binary.yaml:1:9: error: Param 'storage' is a name that every template "
        "defines; choose another."
    )


def test_recursive_templates(project: Project) -> None:
    project.edit(TEMPLATE, "void main", '{% include "binary.glsl.j2" %}\nvoid main')
    project.rejects(
        f"{TEMPLATE}:8:1: error: Templates or macros call each other recursively without end. (In "
        f"variant add_f32_buffer.)"
    )
