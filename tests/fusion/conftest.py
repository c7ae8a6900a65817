"""Options and fixtures of the fusion tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from spirloom.op_library import OpLibrary

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--spirloom-run", type=Path, default=ROOT / "build/release/bin/spirloom-run")


@pytest.fixture(scope="session")
def spirloom_run(request: pytest.FixtureRequest) -> Path:
    program: Path = request.config.getoption("--spirloom-run")
    return program


@pytest.fixture(scope="session")
def library() -> OpLibrary:
    return OpLibrary()
