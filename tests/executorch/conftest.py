"""These tests run in .venv-executorch (`./dev test-executorch`); elsewhere none is collected."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

collect_ignore_glob = [] if find_spec("executorch") else ["test_*.py"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """--peer: ExecuTorch's own tests too, which take minutes; --wheel: the wheel to test."""
    parser.addoption("--peer", action="store_true", help="run ExecuTorch's own tests as well")
    parser.addoption("--wheel", type=Path, help="the wheel; made by ./dev wheel unless given")
