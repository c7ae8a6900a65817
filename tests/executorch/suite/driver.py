"""Tries cases of the suites in worker processes; one that ends a process is a crash by name."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.executorch.suite.outcome import Kind, Outcome, read_rows

ROOT = Path(__file__).resolve().parents[3]
_PATIENCE = 300.0  # seconds for a case


def try_all(runs: Sequence[str], folder: Path) -> dict[str, Outcome]:
    """Id → outcome. What `folder` has results of is not tried again."""
    results = folder / "results.jsonl"
    while missing := sorted(set(runs) - read_results(results).keys(), key=runs.index):
        listed = folder / "runs.txt"
        listed.write_text("\n".join(missing), encoding="utf-8")
        before = len(read_rows(results))
        with (folder / "log.txt").open("a", encoding="utf-8") as log:
            ending = _work(listed, results, log.fileno())
        _name_crash(results, before, ending)
    found = read_results(results)
    return {run: found[run] for run in runs}


def _work(listed: Path, results: Path, log: int) -> str:
    """Runs a worker. How it ended, which is of interest if it was not with the last case."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "tests.executorch.suite.worker", str(listed), str(results)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log) as worker:
        seen, since = -1, time.monotonic()
        while worker.poll() is None:
            size = results.stat().st_size if results.exists() else 0
            if size != seen:
                seen, since = size, time.monotonic()
            if time.monotonic() - since > _PATIENCE:
                worker.kill()
                return f"no end in {_PATIENCE:.0f} s"
            time.sleep(0.1)
        code = worker.returncode
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def _name_crash(results: Path, before: int, ending: str) -> None:
    """Gives the case that was begun last, if it has no outcome, one; several are tried alone."""
    rows = read_rows(results)
    if len(rows) == before:
        raise RuntimeError(f"The worker tried nothing: {ending}.")
    if "together" in rows[-1]:
        row: dict[str, Any] = {"alone": rows[-1]["together"]}
    elif "run" in rows[-1] and "kind" not in rows[-1]:
        row = rows[-1] | {"kind": Kind.CRASH, "reason": ending, "seconds": 0}
    else:
        return
    with results.open("a", encoding="utf-8") as out:
        print(json.dumps(row), file=out)


def read_results(results: Path) -> dict[str, Outcome]:
    """Id → outcome, of the rows that have one; the last counts."""
    return {
        row["run"]: Outcome(Kind(row["kind"]), row["reason"])
        for row in read_rows(results)
        if "kind" in row
    }
