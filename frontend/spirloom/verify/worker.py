"""The process that runs kernels: it may crash or hang, and is then replaced (session.py).

It reads one request per line from standard input, and writes one answer per line to standard
output, both as JSON: {"ready": …}, then for each variant {"started": variant}, {"running": case}
before and {"ran": case} after each use of the device, and {"variant": …} with the result. Messages
of drivers go to standard error.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from spec_model import Library, SpecError
from spirloom.errors import SpirloomError
from spirloom.verify import dispatch_base
from spirloom.verify.cases import Outcome, chosen, run_case, runs_by_variant
from spirloom.verify.verdicts import Verdict

_PIPELINE = re.compile(r"creating the pipeline of (\S+?)\.?$", re.MULTILINE)


class Worker:
    """Runs the variants of requests. `options` are those of Runtime, which selects all kernels."""

    def __init__(self, options: dict[str, Any], answers: TextIO) -> None:
        from spirloom.commands.op_show import load
        from spirloom.runtime import Runtime

        self._answers = answers
        self._library: Library = load((), ())
        self._options: dict[str, Any] = {**options, "cache_dir": "none", "verdicts": "none"}
        self._runtime = Runtime(**self._options)
        self._answer({"ready": True})

    def run(self, request: dict[str, Any]) -> None:
        """Verifies variants of one operator: {"op": …, "variants": […], "all": …}. Without an
        operator, verifies divided dispatches.
        """
        if not request["op"]:
            self._check_dispatch_base()
            return
        op = self._library.ops[request["op"]]
        runs = runs_by_variant(op)
        for name in request["variants"]:
            self._answer({"started": name})
            outcomes: list[Outcome] = []
            answer: dict[str, Any] = {"variant": name}
            try:
                for run in chosen(runs.get(name, []), request["all"]):
                    begin = partial(self._answer, {"running": run.id})
                    outcomes.append(run_case(self._runtime, op, run, begin))
                    self._answer({"ran": run.id})
            except (SpirloomError, SpecError) as error:
                answer |= _failure(name, error)
            self._answer(_summary(outcomes) | answer)

    def _check_dispatch_base(self) -> None:
        answer: dict[str, Any] = {"variant": dispatch_base.NAME}
        self._answer({"started": dispatch_base.NAME})
        begin = partial(self._answer, {"running": dispatch_base.NAME})
        try:
            answer |= dispatch_base.check(self._options, begin)
        except SpirloomError as error:
            answer |= _failure(dispatch_base.NAME, error)
        self._answer(answer)

    def _answer(self, answer: dict[str, Any]) -> None:
        self._answers.write(json.dumps(answer) + "\n")
        self._answers.flush()


def _failure(name: str, error: Exception) -> dict[str, Any]:
    """The result of a variant whose run fails."""
    from spirloom.runtime import DeviceLost, InternalError, NotFound, OutOfMemory, Unsupported

    message = str(error)
    pipeline = _PIPELINE.search(message)
    if isinstance(error, DeviceLost):
        return {"verdict": Verdict.CRASHES, "note": message, "lost": True}
    if pipeline and pipeline[1] == name and not isinstance(error, OutOfMemory):
        return {"verdict": Verdict.FAILS_TO_COMPILE, "note": message}
    if isinstance(error, InternalError) and not pipeline:
        return {"verdict": Verdict.CRASHES, "note": message}
    if isinstance(error, NotFound | Unsupported | OutOfMemory | InternalError):
        return {"skipped": message}  # also if the pipeline of another kernel fails to compile
    raise error


def _summary(outcomes: list[Outcome]) -> dict[str, Any]:
    """The verdict of the cases that ran. A case with extreme values only gives a note."""
    ran = [each for each in outcomes if each.measured is not None]
    if not ran:
        notes = {each.note for each in outcomes}
        return {"skipped": "; ".join(sorted(notes)) or "no test case"}
    wrong = [each for each in ran if each.measured and each.measured.wrong]
    judged = [each for each in wrong if not each.is_extreme]
    worst = max(judged or ran, key=_relative)
    assert worst.measured is not None
    note = f"{len(judged)} of {len(ran)} cases are wrong" if judged else ""
    if wrong and not judged:
        note = f"differs for extreme values, infinities or NaN: {wrong[0].case}"
    return {
        "verdict": Verdict.WRONG if judged else Verdict.OK,
        "cases": len(ran),
        "error": min(worst.measured.relative, 1e300),
        "at": worst.measured.at,
        "case": worst.case,
        "note": note,
    }


def _relative(outcome: Outcome) -> float:
    return outcome.measured.relative if outcome.measured is not None else 0.0


def _requests(stream: TextIO) -> Iterator[dict[str, Any]]:
    for line in stream:
        yield json.loads(line)


def main() -> int:
    """Serves requests until the end of standard input."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # drivers print to standard output
    options = json.loads(sys.argv[1])
    options["overrides"] = [Path(path) for path in options["overrides"]]
    worker = Worker(options, answers)
    for request in _requests(sys.stdin):
        worker.run(request)
    return 0


if __name__ == "__main__":
    sys.exit(main())
