"""Runs cases in a separate process: python -m tests.executorch.suite.worker RUNS RESULTS.

RUNS contains one id per line. RESULTS is appended with JSON rows: before a case or a batch, which
may crash the process, its ids (`run` or `batch`), and afterwards a row with the outcome per case.
Ids in `single` rows are not run in batches.
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
from tests.executorch.suite.batch import all_pass, groups
from tests.executorch.suite.cases import Case, all_cases
from tests.executorch.suite.columns import Column
from tests.executorch.suite.outcome import Kind, Outcome, read_rows


def main() -> None:
    warnings.simplefilter("ignore")
    cases = all_cases()
    runs, results = Path(sys.argv[1]), Path(sys.argv[2])
    single = {run for row in read_rows(results) for run in row.get("single", [])}
    with results.open("a", encoding="utf-8") as out:
        for group in groups(runs.read_text(encoding="utf-8").splitlines()):
            if len(group) > 1 and single.isdisjoint(group) and _try_batch(group, cases, out):
                continue
            for run in group:
                _write(out, run=run)
                start = time.monotonic()
                outcome = attempt(cases[_case(run)], _column(run))
                _write_outcome(out, run, outcome, time.monotonic() - start)


def _try_batch(group: list[str], cases: dict[str, Case], out: TextIO) -> bool:
    _write(out, batch=group)
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
