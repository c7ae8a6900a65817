"""Fixtures: the program spirloom-llm and a small model with random weights."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.llm.model_directory import write_model_directory

ROOT = Path(__file__).resolve().parents[2]
Program = Callable[..., "subprocess.CompletedProcess[str]"]

CONTEXT = 96


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--program", type=Path, default=ROOT / "build/release/bin/spirloom-llm")


@pytest.fixture(scope="session")
def llm(request: pytest.FixtureRequest) -> Program:
    """Runs the program; `text` is its standard input."""
    program = request.config.getoption("--program")

    def run(*arguments: object, text: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(program), *map(str, arguments)]
        return subprocess.run(
            command, input=text, capture_output=True, text=True, check=False, timeout=300
        )

    return run


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph file with a context of CONTEXT tokens and a maximum prefill of 8 tokens."""
    from spirloom.cli import main

    directory = tmp_path_factory.mktemp("llm")
    write_model_directory(directory / "tiny", "llama3", CONTEXT)
    path = directory / "tiny.slg"
    assert main(["import", str(directory / "tiny"), "-o", str(path), "--max-prefill", "8"]) == 0
    return path
