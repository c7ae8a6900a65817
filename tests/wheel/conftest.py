"""The wheel under test, and an environment that has it and NumPy alone."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--wheel", type=Path, help="the wheel; made by ./dev wheel unless given")


@pytest.fixture(scope="session")
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    given: Path | None = request.config.getoption("--wheel")
    if given is not None:
        return given.resolve()
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "tools/wheel.py", "--out", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return next(folder.glob("*.whl"))


def make_environment(folder: Path, *requirements: str) -> Path:
    """The bin folder of a new environment that sees no packages but these."""
    venv.EnvBuilder(with_pip=True).create(folder)
    pip = [str(folder / "bin/python3"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *requirements], check=True)
    return folder / "bin"


@pytest.fixture(scope="session")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With NumPy alone, as the wheel asks for."""
    return make_environment(tmp_path_factory.mktemp("bare") / "venv", str(wheel))


@pytest.fixture(scope="session")
def importing(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With what importing ONNX needs."""
    return make_environment(tmp_path_factory.mktemp("onnx") / "venv", f"{wheel}[onnx]")


@pytest.fixture(scope="session")
def reading(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With what reading an exported program takes, without PyTorch."""
    folder = tmp_path_factory.mktemp("reading") / "venv"
    return make_environment(folder, str(wheel), "flatbuffers")
