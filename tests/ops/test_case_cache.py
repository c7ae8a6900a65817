"""The cache of `spirloom cases`, by operator, and its depfile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from spirloom.casegen.cache import GENERATORS
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
    """Two operators, one with a reference function in a module."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for name in ("specs/reference", "templates"):
            (directory / name).mkdir(parents=True)
        self.write("specs/double.yaml", SPEC.format(name="double", factor=2, reference="2 * a"))
        triple = SPEC.format(name="triple", factor=3, reference="mine.triple")
        self.write("specs/triple.yaml", triple)
        self.write("specs/reference/mine.py", "def triple(a):\n    return 3 * a\n")
        self.write("templates/times.glsl.j2", "{# No params. #}\nvoid main() {}\n")
        self.write("templates/times.yaml", "workgroup: [64, 1, 1]\n")

    def write(self, name: str, text: str) -> None:
        (self.directory / name).write_text(text)

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.directory / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))

    def make(self, *options: str) -> bytes:
        """Returns the generated case pack."""
        sources = ["--spec-dir", str(self.directory / "specs")]
        sources += ["--template-dir", str(self.directory / "templates")]
        out = self.directory / "out.slcases"
        assert main(["cases", *sources, "--out", str(out), *options]) == 0
        return out.read_bytes()

    def generated(self) -> set[str]:
        """Runs the generator and returns the operators whose cases were not in the cache."""
        before = self.cached()
        self.make("--cache", str(self.directory / "cache"))
        assert len(self.cached()) == 2, "stale packs were not deleted"
        return {name.partition(".")[0] for name in self.cached() - before}

    def cached(self) -> set[str]:
        return {path.name for path in (self.directory / "cache").glob("*.slcases")}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_an_edit_regenerates_only_affected_operators(project: Project) -> None:
    assert project.generated() == {"double", "triple"}
    assert project.generated() == set()
    project.replace("specs/double.yaml", "{a: [3]}", "{a: [4]}")
    assert project.generated() == {"double"}
    project.replace("specs/reference/mine.py", "3 * a", "a + a + a")
    assert project.generated() == {"triple"}
    project.replace("templates/times.yaml", "64", "32")
    assert project.generated() == {"double", "triple"}


def test_cached_cases_equal_generated_cases(project: Project) -> None:
    cache = ("--cache", str(project.directory / "cache"))
    assert project.make(*cache) == project.make(*cache) == project.make()


def test_errors_are_not_cached(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.replace("specs/double.yaml", "2 * a", "2 * a[1:]")
    for _ in range(2):
        with pytest.raises(AssertionError):
            project.make("--cache", str(project.directory / "cache"))
        assert "specs/double.yaml:13:5: error: The reference returns the shape" in (
            capsys.readouterr().err
        )


def test_the_depfile_lists_files_and_their_directories(project: Project) -> None:
    depfile = project.directory / "out.d"
    project.make("--depfile", str(depfile))
    product, *inputs = depfile.read_text().replace("\\\n", "").split()
    assert product == f"{project.directory / 'out.slcases'}:"
    for name in ("specs", "specs/double.yaml", "specs/reference/mine.py", "templates/times.yaml"):
        assert str(project.directory / name) in inputs
    assert any(name.endswith("casegen/values.py") for name in inputs)
    assert any(name.endswith("spec_model/load/loader.py") for name in inputs)


def test_the_cache_key_contains_all_generator_modules() -> None:
    code = "import spirloom.casegen.cli, sys; print(*sys.modules)"
    modules = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    own = {name for name in modules if name.startswith(("spirloom.", "spec_model"))}
    assert {n for n in own if not any(f"{n}.".startswith(f"{m}.") for m in GENERATORS)} == set()
