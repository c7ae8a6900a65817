"""Fixtures of the code generator's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codegen import small_project


@pytest.fixture
def project(tmp_path: Path) -> small_project.Project:
    """A project without mistakes."""
    return small_project.make(tmp_path)
