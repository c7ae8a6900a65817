"""Fixtures of the spec model's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codegen import small_project


@pytest.fixture
def project(tmp_path: Path) -> small_project.Project:
    """A valid project."""
    return small_project.make(tmp_path)
