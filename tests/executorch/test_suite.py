"""ExecuTorch's operator suites: a random sample of the cases, or all of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.executorch.suite.columns import all_runs
from tests.executorch.suite.driver import ROOT, try_all
from tests.executorch.suite.outcome import Kind, Outcome
from tests.executorch.suite.table import page, passing_share
from tests.sample import seed

SAMPLE = 100  # about three minutes on one core
PAGE = ROOT / "generated" / "executorch_suite.md"
REJECTED = Path(__file__).resolve().parent / "suite_rejected.txt"


def expected_rejections() -> dict[str, str]:
    """Suite → reason for rejected cases."""
    lines = REJECTED.read_text(encoding="utf-8").splitlines()
    rows = (line.split(maxsplit=1) for line in lines if not line.startswith("#"))
    return {row[0]: row[1] for row in rows}


def unexpected(outcomes: Mapping[str, Outcome]) -> list[str]:
    """A line for each case that is wrong, crashes, or is rejected without a listed reason."""
    known = expected_rejections()
    return [
        f"{run}: {outcome.kind}: {outcome.reason}"
        for run, outcome in outcomes.items()
        if outcome.kind in (Kind.WRONG, Kind.CRASH)
        or (outcome.kind is Kind.REJECTED and run.split("/", 1)[1].split("#")[0] not in known)
    ]


def test_suite(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    runs = all_runs()
    if request.config.getoption("--suite-all"):
        outcomes = try_all(runs, tmp_path)
        PAGE.write_text(page(outcomes), encoding="utf-8")
        assert passing_share(outcomes) >= 0.98
    else:
        outcomes = try_all(random.Random(seed()).sample(runs, SAMPLE), tmp_path)
    assert unexpected(outcomes) == []
