"""Tries cases in a process of its own: python -m tests.executorch.suite.worker RUNS RESULTS.

RUNS has an id a line. RESULTS gets the id before the case is tried, which may end the process, and
its outcome after it, both as JSON.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

from tests.executorch.suite.attempt import attempt
from tests.executorch.suite.cases import all_cases
from tests.executorch.suite.columns import Column


def main() -> None:
    warnings.simplefilter("ignore")
    cases = all_cases()
    runs, results = Path(sys.argv[1]), Path(sys.argv[2])
    with results.open("a", encoding="utf-8") as out:
        for run in runs.read_text(encoding="utf-8").splitlines():
            print(json.dumps({"run": run}), file=out, flush=True)
            column, name = run.split("/", 1)
            start = time.monotonic()
            outcome = attempt(cases[name], Column(column))
            row = {
                "run": run,
                "kind": outcome.kind,
                "reason": outcome.reason,
                "seconds": round(time.monotonic() - start, 2),
            }
            print(json.dumps(row), file=out, flush=True)


if __name__ == "__main__":
    main()
