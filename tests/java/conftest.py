"""Options and fixtures of the Java tests."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--java", help="the virtual machine")
    group.addoption("--jni", type=Path, help="libspirloom_jni.so")
    group.addoption("--class-path", help="spirloom.jar, the tests and JUnit")
    group.addoption("--tests", type=Path, help="the tests' jar file")
    group.addoption("--llm", type=Path, help="spirloom-llm")
    group.addoption("--nm", default="nm")
    group.addoption("--loads", default="2000", help="modules to load in the test for leaks")


@pytest.fixture(scope="session")
def jni(request: pytest.FixtureRequest) -> Path:
    path: Path = request.config.getoption("--jni")
    return path
