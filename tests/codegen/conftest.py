"""Fixtures of the code generator's tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import small_project


@pytest.fixture
def project(tmp_path: Path) -> small_project.Project:
    """A project without mistakes."""
    return small_project.make(tmp_path)
