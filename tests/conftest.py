"""Samples of tests (tests/sample.py): of a directory that SPIRLOOM_SAMPLE names, or with --sample N
of all, one test in N runs. N successive seeds run all tests.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.sample import SEED, denominator, runs_all, seed

# The checker of ONNX 1.20 in Debian crashes if PyTorch was imported before it.
with suppress(ImportError):
    import onnx.checker  # noqa: F401

ROOT = Path(__file__).resolve().parents[1]
_SAMPLED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--sample", type=int, metavar="N", help="run one test in N (default: all)")


def pytest_configure(config: pytest.Config) -> None:
    count: int | None = config.getoption("--sample")
    if count is not None and count < 1:
        raise pytest.UsageError(f"--sample {count}: expected at least 1")


def _count(item: pytest.Item) -> int:
    """One in so many tests like this one runs."""
    if runs_all():
        return 1
    option: int | None = item.config.getoption("--sample")
    return option or denominator(item.path.relative_to(ROOT).as_posix())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def chosen(item: pytest.Item) -> bool:
        count = _count(item)
        return zlib.crc32(item.nodeid.encode()) % count == seed() % count

    kept = [item for item in items if chosen(item)]
    # A run without a test is an error of pytest.
    if not kept and items:
        kept = [items[seed() % len(items)]]
    config.stash[_SAMPLED] = len(kept) < len(items)
    if config.stash[_SAMPLED]:
        names = {item.nodeid for item in kept}
        config.hook.pytest_deselected(items=[i for i in items if i.nodeid not in names])
        items[:] = kept


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Reports that a sample ran."""
    if config.stash.get(_SAMPLED, False):
        terminalreporter.write_line(f"A sample: {SEED}={seed()}.")
