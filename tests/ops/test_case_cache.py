"""The cases that `spirloom cases` keeps by operator, and what it says they follow from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from spirloom.casegen.cache import MAKERS
from spirloom.cli import main

SPEC = """\
# y = {factor} a
op: test.{name}
args:
  a: tensor
outputs:
  y: like a
kernel:
  template: times.glsl.j2
  dtypes: [f32]
  grid: numel(y)
reference: {reference}
tests:
  - {{a: [3]}}
"""


class Project:
    """Two operators, one of them with a reference in a module, and their cases."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("specs/reference", "templates"):
            (folder / name).mkdir(parents=True)
        self.write("specs/double.yaml", SPEC.format(name="double", factor=2, reference="2 * a"))
        triple = SPEC.format(name="triple", factor=3, reference="mine.triple")
        self.write("specs/triple.yaml", triple)
        self.write("specs/reference/mine.py", "def triple(a):\n    return 3 * a\n")
        self.write("templates/times.glsl.j2", "{# No params. #}\nvoid main() {}\n")
        self.write("templates/times.yaml", "workgroup: [64, 1, 1]\n")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))

    def make(self, *options: str) -> bytes:
        """The file of cases."""
        folders = ["--spec-dir", str(self.folder / "specs")]
        folders += ["--template-dir", str(self.folder / "templates")]
        out = self.folder / "out.slcases"
        assert main(["cases", *folders, "--out", str(out), *options]) == 0
        return out.read_bytes()

    def made(self) -> set[str]:
        """The operators whose cases are made by the next run, which keeps them."""
        before = self.kept()
        self.make("--cache", str(self.folder / "cache"))
        assert len(self.kept()) == 2, "what is out of date goes"
        return {name.partition(".")[0] for name in self.kept() - before}

    def kept(self) -> set[str]:
        return {path.name for path in (self.folder / "cache").glob("*.slcases")}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_an_edit_makes_the_cases_of_one_operator(project: Project) -> None:
    assert project.made() == {"double", "triple"}
    assert project.made() == set()
    project.replace("specs/double.yaml", "{a: [3]}", "{a: [4]}")
    assert project.made() == {"double"}
    project.replace("specs/reference/mine.py", "3 * a", "a + a + a")
    assert project.made() == {"triple"}
    project.replace("templates/times.yaml", "64", "32")
    assert project.made() == {"double", "triple"}


def test_kept_cases_are_those_that_are_made(project: Project) -> None:
    cache = ("--cache", str(project.folder / "cache"))
    assert project.make(*cache) == project.make(*cache) == project.make()


def test_mistakes_are_not_kept(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.replace("specs/double.yaml", "2 * a", "2 * a[1:]")
    for _ in range(2):
        with pytest.raises(AssertionError):
            project.make("--cache", str(project.folder / "cache"))
        assert "specs/double.yaml:13:5: error: The reference gives the shape" in (
            capsys.readouterr().err
        )


def test_the_depfile_names_files_and_their_folders(project: Project) -> None:
    depfile = project.folder / "out.d"
    project.make("--depfile", str(depfile))
    product, *inputs = depfile.read_text().replace("\\\n", "").split()
    assert product == f"{project.folder / 'out.slcases'}:"
    for name in ("specs", "specs/double.yaml", "specs/reference/mine.py", "templates/times.yaml"):
        assert str(project.folder / name) in inputs
    assert any(name.endswith("casegen/values.py") for name in inputs)
    assert any(name.endswith("codegen/loader.py") for name in inputs)


def test_all_that_makes_cases_is_in_their_key() -> None:
    code = "import spirloom.casegen.cli, sys; print(*sys.modules)"
    modules = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    ours = {name for name in modules if name.startswith(("spirloom.", "codegen"))}
    assert {n for n in ours if not any(f"{n}.".startswith(f"{m}.") for m in MAKERS)} == set()
