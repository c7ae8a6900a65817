"""Runs cases of the suites in worker processes. A case that ends its process counts as a crash."""

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
_TIMEOUT = 300.0  # seconds for a case


def try_all(runs: Sequence[str], folder: Path) -> dict[str, Outcome]:
    """Id → outcome. Cases with a result in `folder` are not run again."""
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
    """Runs a worker. Returns how it ended, for a worker that ended before the last case."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "tests.executorch.suite.worker", str(listed), str(results)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log) as worker:
        seen, since = -1, time.monotonic()
        while worker.poll() is None:
            size = results.stat().st_size if results.exists() else 0
            if size != seen:
                seen, since = size, time.monotonic()
            if time.monotonic() - since > _TIMEOUT:
                worker.kill()
                return f"timeout after {_TIMEOUT:.0f} s"
            time.sleep(0.1)
        code = worker.returncode
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def _name_crash(results: Path, before: int, ending: str) -> None:
    """Adds an outcome for the last started case, if it has none. A batch is split into cases."""
    rows = read_rows(results)
    if len(rows) == before:
        raise RuntimeError(f"The worker ran no case: {ending}.")
    if "batch" in rows[-1]:
        row: dict[str, Any] = {"single": rows[-1]["batch"]}
    elif "run" in rows[-1] and "kind" not in rows[-1]:
        row = rows[-1] | {"kind": Kind.CRASH, "reason": ending, "seconds": 0}
    else:
        return
    with results.open("a", encoding="utf-8") as out:
        print(json.dumps(row), file=out)


def read_results(results: Path) -> dict[str, Outcome]:
    """Id → outcome, of the rows with an outcome; the last one counts."""
    return {
        row["run"]: Outcome(Kind(row["kind"]), row["reason"])
        for row in read_rows(results)
        if "kind" in row
    }
