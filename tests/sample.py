"""Samples of tests: which part of a suite runs, and the seed of random tests.

SPIRLOOM_SAMPLE_SEED, an integer, selects them; `./dev` sets it from the commit, so that a commit
has the same result every day. Its default is 0. SPIRLOOM_SAMPLE has the directories of which one
test in N runs, such as tests/frontend=8,tests/fusion=8 (tests/plan), or is "all", as in
`./dev test --all`: every test runs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

SEED = "SPIRLOOM_SAMPLE_SEED"
# Turns of whole suites depend on other digits of the seed than samples, so that each test of a
# suite has its turn.
DIGITS_OF_SAMPLES = 256
T = TypeVar("T")


def seed() -> int:
    """The seed of samples and of random tests."""
    return int(os.environ.get("SPIRLOOM_SAMPLE_SEED", "0"))


def runs_all() -> bool:
    """Whether to run every test instead of samples."""
    return os.environ.get("SPIRLOOM_SAMPLE") == "all"


def denominator(path: str) -> int:
    """N for a test file of which one test in N runs; a path from the root, such as tests/x/y.py."""
    for entry in os.environ.get("SPIRLOOM_SAMPLE", "").split(","):
        directory, _, count = entry.partition("=")
        if count and path.startswith(f"{directory}/"):
            return int(count)
    return 1


def part(items: Sequence[T], count: int) -> list[T]:
    """One in `count` of the items, or all; `count` successive seeds select each once. For tests
    that always run.
    """
    return list(items) if runs_all() else list(items[seed() % count :: count])


def varied(items: Sequence[T], count: int) -> list[T]:
    """One in `count` of the items, or all, independently of samples and of turns of suites. For
    parameters within such tests.
    """
    digits = seed() // DIGITS_OF_SAMPLES**2
    return list(items) if runs_all() else list(items[digits % count :: count])
