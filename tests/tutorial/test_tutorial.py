"""Runs the commands of docs/tutorials/first-operator.md and docs/how-to/packed-weights.md."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tutorial import document

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tutorials/first-operator.md"
PACKED_WEIGHTS = ROOT / "docs/how-to/packed-weights.md"

# The specs of a small library: the operator that the page copies, and the runtime's layout copies.
KEPT_SPECS = ("elementwise/relu.yaml", "data_movement/copy.yaml")

LAUNCHER = """\
#!/bin/sh
PYTHONPATH={root}:{root}/frontend exec {python} -m spirloom.cli "$@"
"""


@pytest.fixture
def build_dir(request: pytest.FixtureRequest) -> Path:
    """The build tree under test, which `find_package` of the projects finds."""
    directory: Path = request.config.getoption("--build-dir")
    return directory.resolve()


@pytest.fixture
def environment(build_dir: Path) -> dict[str, str]:
    return {**os.environ, "spirloom_DIR": str(build_dir)}


def test_in_the_repository(tmp_path: Path, build_dir: Path, environment: dict[str, str]) -> None:
    """Runs in a copy of the repository that builds the shaders and tests of a few operators."""
    copy = tmp_path / "spirloom"
    for directory in ("codegen", "spec_model", "frontend", "templates"):
        shutil.copytree(ROOT / directory, copy / directory)
    specs = ROOT / "op_specs"
    for path in (*map(specs.joinpath, KEPT_SPECS), *specs.glob("*/*.py")):
        kept = copy / path.relative_to(ROOT)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, kept)
    headers = [sys.executable, "-m", "codegen", "headers", "--write"]
    templates = copy / "templates" / "glsl"
    folders = ["--spec-dir", str(copy / "op_specs"), "--template-dir", str(templates)]
    # Few of the templates' specs are kept.
    subprocess.run([*headers, *folders], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    shutil.copy(ROOT / "CMakePresets.json", copy)
    shutil.copy(Path(__file__).parent / "repository.cmake", copy / "CMakeLists.txt")
    launcher = copy / ".venv" / "bin" / "spirloom"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(LAUNCHER.format(root=copy, python=ROOT / ".venv/bin/python3"))
    launcher.chmod(0o755)
    configure = ["cmake", "--preset", "release", f"-DCMAKE_MAKE_PROGRAM={shutil.which('ninja')}"]
    subprocess.run(configure, cwd=copy, env=environment, check=True, stdout=subprocess.DEVNULL)
    document.run(PAGE, "In the repository", copy, environment)


@pytest.mark.parametrize(
    ("page", "generator"), [(PAGE, "Unix Makefiles"), (PACKED_WEIGHTS, "Ninja")],
    ids=["first-operator", "packed-weights"],
)  # fmt: skip
def test_in_a_separate_project(
    page: Path, generator: str, tmp_path: Path, build_dir: Path, environment: dict[str, str]
) -> None:
    checkout, project = tmp_path / "checkout", tmp_path / "project"
    (checkout / "build").mkdir(parents=True)
    (checkout / ".venv").symlink_to(ROOT / ".venv")
    (checkout / "build" / "release").symlink_to(build_dir)
    project.mkdir()
    environment |= {"SPIRLOOM": str(checkout), "CMAKE_GENERATOR": generator}
    document.run(page, "In a project of your own", project, environment)
