"""The build whose tests the plan names."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--build-dir", type=Path, default=ROOT / "build/release")


@pytest.fixture(scope="session")
def build_dir(request: pytest.FixtureRequest) -> Path:
    directory: Path = request.config.getoption("--build-dir")
    return directory
