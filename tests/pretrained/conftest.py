"""These tests require .venv-torch and the models of tools/pretrained.py (`./dev test-torch`)."""

from __future__ import annotations

import datetime
from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("onnxruntime") and find_spec("PIL") else ["test_*.py"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption(
        "--pretrained-all",
        action="store_true",
        help="run all pretrained models in float16, too, not a third of them",
    )
    group.addoption(
        "--pretrained-seed",
        type=int,
        default=datetime.date.today().toordinal(),
        help="seed of the sample (default: the date)",
    )
