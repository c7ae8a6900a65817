"""A pytest plugin: `-p tests.daily_sample --sample N` runs one test in N, others each day.

N successive days, or seeds, run all tests. With SPIRLOOM_SAMPLE=all in the environment, as in
`./dev check`, one run does.
"""

from __future__ import annotations

import datetime
import os
import zlib
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption(
        "--sample", type=int, default=1, metavar="N", help="run one test in N (default: all)"
    )
    group.addoption(
        "--sample-seed",
        type=int,
        default=datetime.date.today().toordinal(),
        help="seed of the sample (default: the date)",
    )


def _sample(config: pytest.Config) -> tuple[int, int]:
    """The number of samples, and which of them to run."""
    count: int = config.getoption("--sample")
    if count < 1:
        raise pytest.UsageError(f"--sample {count}: expected at least 1")
    if os.environ.get("SPIRLOOM_SAMPLE") == "all":
        count = 1
    return count, config.getoption("--sample-seed") % count


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    count, part = _sample(config)
    chosen = [zlib.crc32(item.nodeid.encode()) % count == part for item in items]
    if not all(chosen):
        pairs = list(zip(items, chosen, strict=True))
        config.hook.pytest_deselected(items=[item for item, kept in pairs if not kept])
        items[:] = [item for item, kept in pairs if kept]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Reports which tests were run."""
    count, part = _sample(config)
    if count > 1:
        terminalreporter.write_line(f"One test in {count}: --sample {count} --sample-seed {part}.")
