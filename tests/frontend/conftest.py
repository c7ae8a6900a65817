"""Fixtures of the front-end tests."""

from __future__ import annotations

import pytest
from spirloom.ops import OpLibrary


@pytest.fixture(scope="session")
def library() -> OpLibrary:
    """The built-in operators."""
    return OpLibrary()
