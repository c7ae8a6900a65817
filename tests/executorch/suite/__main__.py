"""Runs cases and prints or writes their outcomes.

Results in DIRECTORY are kept, and their cases not run again. PAGE summarizes all results.

python -m tests.executorch.suite DIRECTORY [--only PART…] [--again KIND…] [--page PAGE]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.executorch.suite.columns import all_runs
from tests.executorch.suite.driver import read_results, try_all
from tests.executorch.suite.table import page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of ids: COLUMN/OP#N:DTYPE")
    parser.add_argument("--again", nargs="*", default=[], help="kinds of results to run again")
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    _forget(arguments.directory / "results.jsonl", arguments.again)
    runs = [run for run in all_runs() if any(part in run for part in arguments.only)]
    outcomes = try_all(runs, arguments.directory)
    if arguments.page:
        known = read_results(arguments.directory / "results.jsonl")
        found = {run: known[run] for run in all_runs() if run in known}
        arguments.page.write_text(page(found), encoding="utf-8")
        return
    for run, outcome in outcomes.items():
        print(run, outcome.kind, outcome.reason)


def _forget(results: Path, kinds: list[str]) -> None:
    if not kinds or not results.exists():
        return
    kept = {run: each for run, each in read_results(results).items() if each.kind not in kinds}
    rows = [json.dumps({"run": run, "kind": e.kind, "reason": e.reason}) for run, e in kept.items()]
    results.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
