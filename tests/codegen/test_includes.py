"""Includes of library files: their parameters are declared, and they read no other variables."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest
from jinja2 import meta

from codegen.includes import IncludeParams, described_params, params_of
from spec_model.vocabulary import CONTEXT_NAMES
from tests.codegen.small_project import Project

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "templates/glsl"
LIBRARY = sorted(
    path for path in TEMPLATES.rglob("*.glsl.j2") if path.is_relative_to(TEMPLATES / "lib")
)
TEMPLATE = "templates/glsl/binary.glsl.j2"
PART = """\
{#
A part.
Params:
  width    required
  names    optional
#}
int width = {{ width }}; // {{ names | default(["none"]) | join(" ") }}
"""


@pytest.fixture
def included(project: Project) -> Project:
    project.write("templates/glsl/lib/part.glsl.j2", PART)
    return project


def include(project: Project, tag: str) -> None:
    project.edit(TEMPLATE, "void main", f"{tag}\nvoid main")


def test_parameters_are_passed(included: Project) -> None:
    include(included, '{% include "lib/part.glsl.j2" with width=scale + 1, names=["x", "y"] %}')
    assert "int width = 3; // x y\n" in included.glsl("add_f32_buffer")


def test_a_name_alone_passes_the_variable_of_this_name(included: Project) -> None:
    include(included, '{% set width = 7 %}\n{% include "lib/part.glsl.j2" with width %}')
    assert "int width = 7; // none\n" in included.glsl("add_f32_buffer")


def test_other_variables_of_the_template_are_not_seen(included: Project) -> None:
    include(included, '{% set names = ["z"] %}\n{% include "lib/part.glsl.j2" with width=1 %}')
    assert "int width = 1; // none\n" in included.glsl("add_f32_buffer")


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        (
            '{% include "lib/part.glsl.j2" with width=1, depth=2 %}',
            "'lib/part.glsl.j2' has no parameter 'depth'; it has: width, names.",
        ),
        (
            '{% include "lib/part.glsl.j2" %}',
            "'lib/part.glsl.j2' requires the parameter 'width'; pass it by 'with'.",
        ),
        (
            '{% include "lib/part.glsl.j2" if scale else "lib/part.glsl.j2" with names=[] %}',
            "'lib/part.glsl.j2' requires the parameter 'width'; pass it by 'with'.",
        ),
    ],
)
def test_wrong_parameters(included: Project, tag: str, message: str) -> None:
    include(included, tag)
    with pytest.raises(Exception, match="Template does not parse") as error:
        included.glsl("add_f32_buffer")
    text = str(error.value)
    assert text.startswith(f"{TEMPLATE}:8:")
    assert text.endswith(f"error: Template does not parse: {message}")


def test_access_of_the_spec_and_of_the_defaults(project: Project) -> None:
    include(project, '// vec4: {{ access.vec4 | join(" ") }}; vec8: {{ access.vec8 | join(" ") }}')
    project.edit("op_specs/add.yaml", "{alpha: alpha}", "{alpha: alpha}\n  access: {a: vec8}")
    sidecar = project.root / "templates/glsl/binary.yaml"
    sidecar.write_text(sidecar.read_text() + "access: {a: vec4, y: [vec4, vec8], unbound: vec4}\n")
    assert "// vec4: y unbound; vec8: a y\n" in project.glsl("add_f32_buffer")


@pytest.mark.parametrize(
    ("name", "param"), [("vec4_access", "vec4"), ("deferred4_access", "deferred_vec4")]
)
def test_variables_that_declare_access_are_refused(project: Project, name: str, param: str) -> None:
    include(project, f'{{% set {name} = ["a"] %}}')
    with pytest.raises(Exception, match="has no effect") as error:
        project.glsl("add_f32_buffer")
    assert str(error.value) == (
        f"{TEMPLATE}:8:8: error: '{name}' has no effect, as library files do not see a template's "
        f"variables. Declare it in the spec or next to the template: access: {{x: {param}}}."
    )


def test_the_number_of_workgroups_is_refused(project: Project) -> None:
    include(project, "int stride = int(gl_NumWorkGroups.x);")
    with pytest.raises(Exception, match="gl_NumWorkGroups") as error:
        project.glsl("add_f32_buffer")
    assert str(error.value) == (
        f"{TEMPLATE}:8:18: error: gl_NumWorkGroups is not the size of the grid if the runtime "
        "divides a dispatch. Call flat_index() or workgroup_index(), and pass sizes as push "
        "constants."
    )


@pytest.mark.parametrize("path", LIBRARY, ids=[path.stem for path in LIBRARY])
def test_library_files_read_only_their_parameters(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    loader = jinja2.FileSystemLoader(TEMPLATES)
    environment = jinja2.Environment(loader=loader, extensions=[IncludeParams])
    free = meta.find_undeclared_variables(environment.parse(text))
    declared = set(described_params(text.partition("#}")[0].removeprefix("{#\n")))
    assert free - CONTEXT_NAMES == declared - CONTEXT_NAMES
    params = params_of(text)
    assert set(params.required) | set(params.optional) == declared
