"""Options of the tests of the suite."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--onnx-suite", type=Path, default=Path("/usr/share/libonnx-testdata/data"))


@pytest.fixture(scope="session")
def suite(request: pytest.FixtureRequest) -> Path:
    """The suite's directory `data`."""
    directory: Path = request.config.getoption("--onnx-suite")
    return directory
