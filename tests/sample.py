"""Samples of tests: which part of a suite runs, and the seed of random tests.

SPIRLOOM_SAMPLE_SEED, an integer, selects them; `./dev` sets it from the commit, so that a commit
has the same result every day. Its default is 0. With SPIRLOOM_SAMPLE=all, as in
`./dev test --all`, every test runs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

SEED = "SPIRLOOM_SAMPLE_SEED"
T = TypeVar("T")


def seed() -> int:
    """The seed of samples and of random tests."""
    return int(os.environ.get("SPIRLOOM_SAMPLE_SEED", "0"))


def runs_all() -> bool:
    """Whether to run every test instead of samples."""
    return os.environ.get("SPIRLOOM_SAMPLE") == "all"


def part(items: Sequence[T], count: int) -> list[T]:
    """One in `count` of the items, or all; `count` successive seeds select each once."""
    return list(items) if runs_all() else list(items[seed() % count :: count])
