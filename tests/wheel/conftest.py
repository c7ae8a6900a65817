"""The wheel under test, and environments with the wheel and few other packages."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--wheel", type=Path, help="the wheel (default: built by tools/wheel.py)")


@pytest.fixture(scope="session")
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path | None = request.config.getoption("--wheel")
    if path is not None:
        return path.resolve()
    directory = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "tools/wheel.py", "--out", str(directory)]
    subprocess.run(command, cwd=ROOT, check=True)
    return next(directory.glob("*.whl"))


def make_environment(directory: Path, *requirements: str) -> Path:
    """The bin directory of a new environment with these packages only."""
    venv.EnvBuilder(with_pip=True).create(directory)
    pip = [str(directory / "bin/python3"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *requirements], check=True)
    return directory / "bin"


@pytest.fixture(scope="session")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With what the wheel requires: NumPy and flatbuffers."""
    return make_environment(tmp_path_factory.mktemp("bare") / "venv", str(wheel))


@pytest.fixture(scope="session")
def importing(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the packages for ONNX import."""
    return make_environment(tmp_path_factory.mktemp("onnx") / "venv", f"{wheel}[onnx]")
