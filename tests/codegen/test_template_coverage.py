"""The report of template branches that no test case executes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from codegen.render import Renderer
from spec_model import Library, load_library
from spec_model.templates import BUILTIN_TEMPLATES
from tools.template_coverage.branches import Branch, BranchRecorder
from tools.template_coverage.report import coverage_of, findings

DIVISION = Path(__file__).resolve().parents[1] / "tools/division"
ADDED = """\
{% macro used() %}
// used
{% endmacro %}
{% macro unused() %}
// unused
{% endmacro %}
{% if true %}
{{ used() }}
{% elif false %}
// never
{% else %}
// never
{% endif %}
{% for i in range(0) %}
// never
{% endfor %}
"""


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """An operator whose template ends with ADDED."""
    shutil.copytree(DIVISION, tmp_path / "project")
    (template,) = (tmp_path / "project/templates").glob("*.j2")
    with template.open("a", encoding="utf-8") as stream:
        stream.write(ADDED)
    folders = [BUILTIN_TEMPLATES, tmp_path / "project/templates"]
    return load_library([tmp_path / "project/op_specs"], folders, tmp_path)


def added_line(library: Library, text: str) -> int:
    """The line of the template with this text."""
    source = library.templates.find("quotient.glsl.j2")
    assert source is not None
    return source.path.read_text(encoding="utf-8").splitlines().index(text) + 1


def test_the_text_does_not_change(library: Library) -> None:
    renderer = Renderer(library.templates)
    recording = Renderer(library.templates, extensions=[BranchRecorder])
    for variant in library.variants:
        assert recording.render(variant).text == renderer.render(variant).text


def test_branches_of_a_template(library: Library) -> None:
    names = {variant.id for variant in library.variants}
    found = coverage_of(library, names, features=set())
    own = {b: why for b, why in findings(found).items() if b.template == "quotient.glsl.j2"}
    lines = {
        "{% macro unused() %}": "macro", "{% elif false %}": "elif", "{% else %}": "else",
        "{% for i in range(0) %}": "for",
    }  # fmt: skip
    expected = {
        Branch("quotient.glsl.j2", added_line(library, line), tag) for line, tag in lines.items()
    }
    assert set(own) == expected
    assert set(own.values()) == {"no variant renders it"}


def test_variants_without_cases_and_devices_without_features(library: Library) -> None:
    taken = Branch("quotient.glsl.j2", added_line(library, "{% if true %}"), "if")
    (variant,) = library.variants
    untested = findings(coverage_of(library, set(), features=set()))
    assert untested[taken] == f"no test case has a variant that renders it, such as {variant.id}"
    assert taken not in findings(coverage_of(library, {variant.id}, features=set()))
