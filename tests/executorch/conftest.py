"""These tests run in .venv-executorch (`./dev test-executorch`); elsewhere none is collected."""

from __future__ import annotations

import datetime
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# A software driver's compiler takes most of the time otherwise.
os.environ.setdefault("GALLIVM_PERF", "nopt")

collect_ignore_glob = [] if find_spec("executorch") else ["test_*.py"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """--peer: ExecuTorch's own tests too, which take minutes; --suite-all: an hour; --wheel: its
    file."""
    parser.addoption("--wheel", type=Path, help="the wheel; made by ./dev wheel unless given")
    parser.addoption("--peer", action="store_true", help="run ExecuTorch's own tests as well")
    parser.addoption(
        "--suite-all",
        action="store_true",
        help="try every case of ExecuTorch's suites and write generated/executorch_suite.md",
    )
    parser.addoption(
        "--suite-seed",
        type=int,
        default=datetime.date.today().toordinal(),
        help="choose the cases; else the day does",
    )


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Says which cases of ExecuTorch's suites were tried."""
    if config.getoption("--suite-all"):
        terminalreporter.write_line("Of ExecuTorch's suites all cases.")
    else:
        seed = config.getoption("--suite-seed")
        terminalreporter.write_line(f"Of ExecuTorch's suites the sample of --suite-seed {seed}.")
