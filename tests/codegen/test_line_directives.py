"""Each line of GLSL has the number of its template line."""

from __future__ import annotations

import re

import pytest

from tests.codegen.small_project import Project

TEMPLATE = "templates/glsl/binary.glsl.j2"


def numbered(glsl: str) -> list[tuple[str, int, str]]:
    """(file, line, text) of each line, as compilers report it."""
    file, line, rows = "", 0, []
    for text in glsl.splitlines():
        match = re.fullmatch(r'#line (\d+) "(.*)"', text)
        if match:
            line, file = int(match[1]), match[2]
            continue
        if file:
            rows.append((file, line, text))
        line += 1
    return rows


def lines_called(project: Project, template: str, part: str = "") -> list[tuple[int, str]]:
    """The numbered lines of a template's main text that start with `at`, and those of `part`."""
    project.write(TEMPLATE, template)
    project.write("templates/glsl/lib/part.glsl.j2", part)
    rows = numbered(project.glsl("add_f32_buffer"))
    return [(line, text) for _, line, text in rows if text.strip().startswith("at")]


@pytest.mark.parametrize(
    "template",
    [
        "at1\nat2\n",
        "{# comment #}\nat2\n",
        "{# long\ncomment #}\nat3\n\n{# another\n#}\nat7\n",
        "{% if true %}\nat2\n{% endif %}\nat4\n",
        "{% if false %}\nno\n{% else %}\nat4\n{% endif %}\nat6\n",
        "{% for i in [1, 2] %}\nat2\n{% endfor %}\nat4\n",
        "  {% if true %}\n  at2\n  {% endif %}\nat4\n",
        "{% set a = [\n  1,\n  2] %}\nat4\n",
        "x {% if true %}y{% endif %} z\nat2\n",
        "foo({% for i in [1, 2] %}\nat2{% endfor %});\nat3\n",
        "{% if false %}a{% endif %}b\nat2\n",
        "{% macro m() %}\na\nb\n{% endmacro %}\nat5\n{{ m() }}\nat7\n",
        "{% macro m() -%}\na\n{%- endmacro %}\nfloat y = {{ m() }};\nat5\n",
        "{% set a, b = 1, [\n  2] %}\nat3\n{% if true %}\nat5\n{% endif %}\nat7\n",
        "{% set body | indent(width=2) %}\na\n{% endset %}\nat4\n",
        "{% macro m(x, y=1) %}\na\nb\n{% endmacro %}\nat5\n{{ m(0) }}\nat7\n",
        "{% set body %}\na\nb\n{% endset %}\n{{ body }}\nat6\n",
        "{% raw %}\n{{ }}\n{% endraw %}\nat4\n",
        'a\n{% include "lib/part.glsl.j2" %}\nat3\n',
        "{{ expr }}\nat2\n{{ expr }} {{ expr }}\nat4\n",
    ],
)
def test_lines_keep_their_numbers(project: Project, template: str) -> None:
    found = lines_called(project, template, "part\n{% if true %}\npart\n{% endif %}\n")
    assert found
    for line, text in found:
        match = re.match(r"\s*at(\d+)", text)
        assert match is not None
        assert line == int(match[1]), numbered(project.glsl("add_f32_buffer"))


def test_included_lines_are_numbered_in_their_file(project: Project) -> None:
    project.write(TEMPLATE, 'a\n{% include "lib/part.glsl.j2" %}\nb\n')
    project.write(
        "templates/glsl/lib/part.glsl.j2", "{# x #}\np2\n{% if true %}\np4\n{% endif %}\n"
    )
    part = "templates/glsl/lib/part.glsl.j2"
    assert numbered(project.glsl("add_f32_buffer")) == [
        (TEMPLATE, 1, "a"),
        (part, 2, "p2"),
        (part, 4, "p4"),
        (TEMPLATE, 3, "b"),
    ]


def test_no_directive_inside_a_line_or_a_continued_macro(project: Project) -> None:
    project.write(
        TEMPLATE,
        "#define M(a) \\\n{% if true %}\n  (a + \\\n{% endif %}\n  1)\n"
        "{% macro m() %}\n1\n{% endmacro %}\nfloat y = f({{ m() }});\n",
    )
    text = project.glsl("add_f32_buffer")
    assert "#define M(a) \\\n  (a + \\\n  1)\n" in text
    assert "float y = f(1\n);" in text


SPEC = "op_specs/add.yaml"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("at1 {{ expr }} at1\nat2\n", [(TEMPLATE, 1, "at1 "), (SPEC, 12, "a + b"),
                                      (TEMPLATE, 1, " at1"), (TEMPLATE, 2, "at2")]),
        ("{% macro m(x) -%}\nf({{ x }})\n{%- endmacro %}\nat {{ m(expr) }};\nat5\n",
         [(TEMPLATE, 4, "at f("), (SPEC, 12, "a + b"), (TEMPLATE, 4, ");"), (TEMPLATE, 5, "at5")]),
        ("{{ expr }}\nat2\n", [(SPEC, 12, "a + b"), (TEMPLATE, 2, "at2")]),
        # Line breaks would change the meaning.
        ("#define A {{ expr }}\n", [(TEMPLATE, 1, "#define A a + b")]),
        ("#define A \\\n  {{ expr }}\n", [(TEMPLATE, 1, "#define A \\"), (TEMPLATE, 2, "  a + b")]),
        ("x // {{ expr }}\n", [(TEMPLATE, 1, "x // a + b")]),
        ("x{{ expr }}y\n", [(TEMPLATE, 1, "xa + by")]),
    ],
)  # fmt: skip
def test_params_have_the_line_of_the_spec(
    project: Project, template: str, expected: list[tuple[str, int, str]]
) -> None:
    project.spec("a + b * alpha}", "a + b}")
    project.write(TEMPLATE, template)
    found = numbered(project.glsl("add_f32_buffer"))
    rows = [(f, n, text.strip() if f == SPEC else text) for f, n, text in found if text.strip()]
    assert rows == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a + b", [(12, "                 a + b")]),
        ("'a + b'", [(12, "                  a + b")]),
        ("a +\n      b", [(12, "         a +"), (13, "      b")]),
        (">-\n    a +\n\n      b", [(13, "    a +"), (15, "      b")]),
        ('"a \\x2b b"', [(12, "              /**/a + b")]),
        ("|\n    // a\n    b", [(13, "    // a"), (14, "    b")]),
        (">-\n    /* */ a\n    // b", [(13, "/**//* */ a // b")]),
        ("alpha", [(12, "                 alpha")]),
    ],
)
def test_params_have_the_columns_of_the_spec(
    project: Project, value: str, expected: list[tuple[int, str]]
) -> None:
    flow = "\n" not in value
    params = f"{{expr: {value}}}" if flow else f"\n   expr: {value}"
    project.spec("{expr: a + b * alpha}", params)
    project.write(TEMPLATE, "float y = {{ expr }};\n")
    found = numbered(project.glsl("add_f32_buffer"))
    rows = [(n, text) for file, n, text in found if file == SPEC and text.strip()]
    shift = 0 if flow else 1
    assert rows == [(line + shift, text) for line, text in expected]
