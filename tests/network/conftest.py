"""Options and fixtures of the network tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.network.driver import Tools

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--spirloom", type=Path, default=ROOT / ".venv/bin/spirloom")
    group.addoption("--spirloom-run", type=Path, default=ROOT / "build/release/bin/spirloom-run")
    group.addoption("--network-cache", type=Path, default=ROOT / "build/release/networks")


@pytest.fixture(scope="session")
def tools(request: pytest.FixtureRequest) -> Tools:
    return Tools(request.config.getoption("--spirloom"), request.config.getoption("--spirloom-run"))


@pytest.fixture(scope="session")
def network_cache(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.config.getoption("--network-cache")
    return folder
