"""What the front end's tests share."""

from __future__ import annotations

import pytest
from spirloom.ops import OpLibrary


@pytest.fixture(scope="session")
def library() -> OpLibrary:
    """The project's own operators."""
    return OpLibrary()
