"""Tests that require .venv-executorch (`./dev test-executorch`); elsewhere none is collected."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.sample import SEED, seed

# Disables optimizations of llvmpipe's compiler, which would take most of the time.
os.environ.setdefault("GALLIVM_PERF", "nopt")

collect_ignore_glob = [] if find_spec("executorch") else ["test_*.py"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --peer (minutes), --suite-all (an hour) and --wheel."""
    parser.addoption("--wheel", type=Path, help="wheel to test (default: build one)")
    parser.addoption("--peer", action="store_true", help="run ExecuTorch's own tests as well")
    parser.addoption(
        "--suite-all",
        action="store_true",
        help="run all cases of ExecuTorch's suites and write generated/executorch_suite.md",
    )


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Reports which cases of ExecuTorch's suites were run."""
    if config.getoption("--suite-all"):
        terminalreporter.write_line("ExecuTorch's suites: all cases.")
    else:
        terminalreporter.write_line(f"ExecuTorch's suites: a sample, {SEED}={seed()}.")
