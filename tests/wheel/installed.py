"""A pytest plugin for tools/wheel_tests.py: `spirloom` is the wheel's, and nothing of the
repository can be imported, but the tests and examples.
"""

from __future__ import annotations

import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

INSTALLED = ("spirloom", "spirloom_schema")
REPOSITORY = ("codegen", "spec_model", "op_specs", "tools", "benchmarks")


def directory_of(package: str) -> Path | None:
    """Where an import of the package finds it."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations))).resolve()


def pytest_configure() -> None:
    site = Path(sysconfig.get_path("purelib")).resolve()
    for package in INSTALLED:
        if directory_of(package) != site / package:
            raise pytest.UsageError(
                f"'{package}' is imported from {directory_of(package)}; expected {site / package}."
            )
    for package in REPOSITORY:
        if directory := directory_of(package):
            raise pytest.UsageError(
                f"'{package}' can be imported from {directory}. The wheel's tests must run "
                "without the repository on sys.path."
            )
