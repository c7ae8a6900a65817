"""docs/adding-an-operator.md does what it says, on the device."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.tutorial import document

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "adding-an-operator.md"

# All that a small library needs: what the page starts from, and the runtime's own copies.
KEPT_SPECS = ("relu.yaml", "copy.yaml")

LAUNCHER = """\
#!/bin/sh
PYTHONPATH={root}:{root}/frontend exec {python} -m spirloom.cli "$@"
"""


@pytest.fixture
def build_dir(request: pytest.FixtureRequest) -> Path:
    """The build tree to test, a package for projects to find."""
    folder: Path = request.config.getoption("--build-dir")
    return folder.resolve()


@pytest.fixture
def environment(build_dir: Path) -> dict[str, str]:
    return {**os.environ, "spirloom_DIR": str(build_dir)}


def test_in_the_repository(tmp_path: Path, build_dir: Path, environment: dict[str, str]) -> None:
    """In a copy of it, whose build makes only the shaders and their tests, of few operators."""
    copy = tmp_path / "spirloom"
    for folder in ("codegen", "frontend", "templates"):
        shutil.copytree(ROOT / folder, copy / folder)
    (copy / "op_specs").mkdir()
    for name in KEPT_SPECS:
        shutil.copy(ROOT / "op_specs" / name, copy / "op_specs")
    shutil.copytree(ROOT / "op_specs" / "reference", copy / "op_specs" / "reference")
    shutil.copy(ROOT / "CMakePresets.json", copy)
    shutil.copy(Path(__file__).parent / "repository.cmake", copy / "CMakeLists.txt")
    launcher = copy / ".venv" / "bin" / "spirloom"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(LAUNCHER.format(root=copy, python=ROOT / ".venv/bin/python3"))
    launcher.chmod(0o755)
    configure = ["cmake", "--preset", "release", f"-DCMAKE_MAKE_PROGRAM={shutil.which('ninja')}"]
    subprocess.run(configure, cwd=copy, env=environment, check=True, stdout=subprocess.DEVNULL)
    document.run(PAGE, "In the repository", copy, environment)


def test_in_a_project_of_ones_own(
    tmp_path: Path, build_dir: Path, environment: dict[str, str]
) -> None:
    checkout, project = tmp_path / "checkout", tmp_path / "project"
    (checkout / "build").mkdir(parents=True)
    (checkout / ".venv").symlink_to(ROOT / ".venv")
    (checkout / "build" / "release").symlink_to(build_dir)
    project.mkdir()
    environment["SPIRLOOM"] = str(checkout)
    document.run(PAGE, "In a project of your own", project, environment)
