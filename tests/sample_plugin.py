"""A pytest plugin: `-p tests.sample_plugin --sample N` runs one test in N (tests/sample.py).

N successive seeds run all tests.
"""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from tests.sample import SEED, runs_all, seed


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption(
        "--sample", type=int, default=1, metavar="N", help="run one test in N (default: all)"
    )


def _count(config: pytest.Config) -> int:
    """The number of samples."""
    count: int = config.getoption("--sample")
    if count < 1:
        raise pytest.UsageError(f"--sample {count}: expected at least 1")
    return 1 if runs_all() else count


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    count = _count(config)
    chosen = [zlib.crc32(item.nodeid.encode()) % count == seed() % count for item in items]
    if not all(chosen):
        pairs = list(zip(items, chosen, strict=True))
        config.hook.pytest_deselected(items=[item for item, kept in pairs if not kept])
        items[:] = [item for item, kept in pairs if kept]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Reports which tests were run."""
    if _count(config) > 1:
        terminalreporter.write_line(f"One test in {_count(config)}: {SEED}={seed()}.")
