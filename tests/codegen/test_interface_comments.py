"""The opening comments of templates list what their specs declare."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.cli import main
from codegen.interface_comments import check_interfaces, interfaces, write_interfaces
from spec_model import load_library
from spec_model.yaml_reader import read_text
from tests.codegen.small_project import SPEC, Project

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = "templates/glsl/binary.glsl.j2"
OPENING = """\
{#
y = expr(a, b)
Params:
  expr     GLSL expression of a and b
  scale    factor of twice()
Bindings: a, b, y (out)
Push: int n (binary.yaml); float alpha (spec add.yaml)
#}
"""


@pytest.fixture
def commented(project: Project) -> Project:
    project.edit(TEMPLATE, "{#\ny = expr(a, b)\n#}\n", OPENING)
    return project


def test_lines_that_match_are_valid(commented: Project) -> None:
    check_interfaces(commented.load())
    assert write_interfaces(commented.load()) == []


def test_a_template_without_lines_is_valid(project: Project) -> None:
    check_interfaces(project.load())


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("int n (binary.yaml); ", "", 7),
        ("int n (", "int n, old (", 7),
        ("a, b, y (out)", "a, b, y", 6),
        ("Bindings: a, b, y (out)\n", "", 6),
    ],
)
def test_stale_lines(commented: Project, old: str, new: str, line: int) -> None:
    wrong = "".join(OPENING.splitlines(keepends=True)[5:7]).replace(old, new)
    commented.edit(TEMPLATE, old, new)
    with commented.fails(
        f"{TEMPLATE}:{line}:1: error: The comment does not list what the specs of the template "
        f"declare. Replace '{' '.join(wrong.split())}' by 'Bindings: a, b, y (out) Push: int n "
        "(binary.yaml); float alpha (spec add.yaml)', with `./dev update` or `python3 -m codegen "
        "headers --write --spec-dir DIR`."
    ):
        check_interfaces(commented.load())
    assert len(write_interfaces(commented.load())) == 1
    assert (commented.root / TEMPLATE).read_text().startswith(OPENING)


def test_params_of_the_comment(commented: Project) -> None:
    commented.edit(TEMPLATE, "  scale    factor", "  scael    factor")
    with commented.fails(
        f"{TEMPLATE}:5:3: error: Param 'scael' is described, but the template declares: expr, "
        "scale."
    ):
        check_interfaces(commented.load())
    commented.edit(TEMPLATE, "  scael    factor of twice()\n", "")
    with commented.fails(
        f"{TEMPLATE}:3:1: error: Param 'scale' is not described; add a line for it below 'Params:'."
    ):
        check_interfaces(commented.load())


def test_several_specs(commented: Project) -> None:
    other = SPEC.replace("aten.add.Tensor", "aten.sub.Tensor").replace("alpha", "beta")
    commented.write("op_specs/sub.yaml", other)
    write_interfaces(commented.load())
    assert "Push: int n (binary.yaml); …\n#}" in (commented.root / TEMPLATE).read_text()
    commented.edit(TEMPLATE, "void main() {", "void main() {\n  float scaled = beta;")
    write_interfaces(commented.load())
    text = (commented.root / TEMPLATE).read_text()
    assert "Push: int n (binary.yaml); float beta? (spec sub.yaml); …\n#}" in text


def test_the_command(commented: Project, capsys: pytest.CaptureFixture[str]) -> None:
    commented.edit(TEMPLATE, "int n (", "int m (")
    directories = [str(commented.root / name) for name in ("op_specs", "templates/glsl")]
    inputs = ["--spec-dir", directories[0], "--template-dir", directories[1]]
    inputs += ["--root", str(commented.root)]
    assert main(["headers", *inputs]) == 1
    assert main(["generate", "--out", str(commented.root / "out"), *inputs]) == 1
    assert capsys.readouterr().err.count(f"{TEMPLATE}:7:1: error: The comment does not list") == 2
    assert main(["headers", "--write", *inputs]) == 0
    assert main(["headers", *inputs]) == 0


def test_every_template_of_the_repository_has_them() -> None:
    library = load_library([ROOT / "op_specs"], [ROOT / "templates/glsl"])
    check_interfaces(library)
    for source, interface in interfaces(library):
        text = read_text(source)
        assert interface.lines(text) in text.partition("#}")[0], source.name
        assert not interface.params or "\nParams:\n" in text.partition("#}")[0], source.name
