"""Options and fixtures of the C API's tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.c_api.header import Header, read_header

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    build = ROOT / "build/release"
    group.addoption("--library", type=Path, default=build / "runtime/c/libspirloom.so")
    group.addoption("--shaders", type=Path, default=build / "generated/shaders.slpack")
    group.addoption("--example", type=Path, default=build / "bin/spirloom_c_example")
    group.addoption("--nm", default=shutil.which("nm"))


@pytest.fixture(scope="session")
def header() -> Header:
    return read_header()


@pytest.fixture(scope="session")
def library_path(request: pytest.FixtureRequest) -> Path:
    path: Path = request.config.getoption("--library")
    return path


@pytest.fixture(scope="session")
def shaders_path(request: pytest.FixtureRequest) -> Path:
    path: Path = request.config.getoption("--shaders")
    return path
