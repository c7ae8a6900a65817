"""Fixtures of the front-end tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from spirloom.op_library import OpLibrary
from spirloom.passes.observers import observing, verify


@pytest.fixture(scope="session", autouse=True)
def _verified_passes() -> Iterator[None]:
    """Graphs are verified after each pass."""
    with observing(verify):
        yield


@pytest.fixture(scope="session")
def library() -> OpLibrary:
    """The built-in operators."""
    return OpLibrary()
