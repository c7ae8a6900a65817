"""Tries cases in a process of its own: python -m tests.executorch.suite.worker RUNS RESULTS.

RUNS has an id a line. RESULTS gets rows of JSON: before cases are tried, which may end the process,
their ids (`run`, or `together`), and after it a row with the outcome for each. What a row says is
to be tried `alone` is.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from tests.executorch.suite.attempt import attempt
from tests.executorch.suite.cases import Case, all_cases
from tests.executorch.suite.columns import Column
from tests.executorch.suite.outcome import Kind, Outcome, read_rows
from tests.executorch.suite.together import all_pass, groups


def main() -> None:
    warnings.simplefilter("ignore")
    cases = all_cases()
    runs, results = Path(sys.argv[1]), Path(sys.argv[2])
    alone = {run for row in read_rows(results) for run in row.get("alone", [])}
    with results.open("a", encoding="utf-8") as out:
        for group in groups(runs.read_text(encoding="utf-8").splitlines()):
            if len(group) > 1 and alone.isdisjoint(group) and _together(group, cases, out):
                continue
            for run in group:
                _write(out, run=run)
                start = time.monotonic()
                outcome = attempt(cases[_case(run)], _column(run))
                _write_outcome(out, run, outcome, time.monotonic() - start)


def _together(group: list[str], cases: dict[str, Case], out: TextIO) -> bool:
    _write(out, together=group)
    start = time.monotonic()
    if not all_pass([cases[_case(run)] for run in group], _column(group[0])):
        return False
    for run in group:
        _write_outcome(out, run, Outcome(Kind.PASSES), (time.monotonic() - start) / len(group))
    return True


def _column(run: str) -> Column:
    return Column(run.split("/", 1)[0])


def _case(run: str) -> str:
    return run.split("/", 1)[1]


def _write_outcome(out: TextIO, run: str, outcome: Outcome, seconds: float) -> None:
    _write(out, run=run, kind=outcome.kind, reason=outcome.reason, seconds=round(seconds, 2))


def _write(out: TextIO, **row: str | float | Iterable[Any]) -> None:
    print(json.dumps(row), file=out, flush=True)


if __name__ == "__main__":
    main()
