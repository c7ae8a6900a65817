"""Verifies kernels in worker processes, which are replaced when one crashes or hangs."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spirloom import child_python
from spirloom.errors import ImportFailure
from spirloom.terminal import Report, silent
from spirloom.verify.verdicts import Finding, Verdict

_HOST_SECONDS = 600.0  # without use of the device: start, inputs, references
_END_SECONDS = 10.0
_MAX_LOG = 2000


@dataclass(frozen=True, slots=True)
class Settings:
    """The device, further shader libraries, seconds per kernel, and whether all cases run."""

    device: str | None = None
    overrides: tuple[Path, ...] = ()
    seconds: float = 60.0
    all_cases: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """A verified variant. `finding` None: it cannot run on the device, see `skipped`."""

    op: str
    variant: str
    finding: Finding | None
    skipped: str = ""


class _Ended(Exception):
    """The worker has ended; the message has its exit code and the end of its messages."""


class _Worker:
    """A worker process. Killed by close()."""

    def __init__(self, settings: Settings) -> None:
        options = {"device": settings.device, "overrides": list(map(str, settings.overrides))}
        self._process = child_python.start(
            "-m",
            "spirloom.verify.worker",
            json.dumps(options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._log = ""
        self._threads = [
            threading.Thread(target=self._read_answers, daemon=True),
            threading.Thread(target=self._read_log, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(json.JSONDecodeError):
                self._answers.put(json.loads(line))
        self._answers.put(None)

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._log = (self._log + line)[-_MAX_LOG:]

    def send(self, request: Mapping[str, Any]) -> None:
        """Sends a request. A worker that has ended is noticed by answer()."""
        assert self._process.stdin is not None
        with suppress(OSError):  # EPIPE, on Windows EINVAL
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def answer(self, seconds: float) -> dict[str, Any]:
        """The next answer. Raises TimeoutError after this time, _Ended if the worker has ended."""
        try:
            answer = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if answer is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
            self._threads[1].join(_END_SECONDS)
            lines = self._log.strip().splitlines()
            last = f": {lines[-1]}" if lines else ""
            raise _Ended(f"{_how(self._process.returncode)}{last}")
        return answer

    def close(self) -> None:
        """Kills the process. One that the driver keeps from ending is left behind."""
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


def _how(code: int | None) -> str:
    if code is None:
        return "the process does not end"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


class Verification:
    """Verifies variants by their specs' test cases. `digests` are those of the modules."""

    def __init__(
        self, settings: Settings, digests: Mapping[str, int], report: Report = silent
    ) -> None:
        self._settings = settings
        self._digests = digests
        self._report = report
        self._worker: _Worker | None = None

    def run(self, variants: Mapping[str, Sequence[str]]) -> Iterator[Result]:
        """The results of variants by operator, in order, as they come. Raises ImportFailure if the
        device cannot be used at all.
        """
        total, done = sum(map(len, variants.values())), 0
        try:
            for op, names in variants.items():
                remaining = list(names)
                while remaining:
                    for result in self._of_worker(op, remaining):
                        remaining.remove(result.variant)
                        done += 1
                        yield result
                    self._report(f"{done} of {total} kernels")
        finally:
            self._close()

    def _of_worker(self, op: str, names: Sequence[str]) -> Iterator[Result]:
        """The results up to the first that ends the worker."""
        worker = self._ready_worker()
        worker.send({"op": op, "variants": list(names), "all": self._settings.all_cases})
        current = names[0]
        pending = set(names)
        seconds = _HOST_SECONDS
        while pending:
            try:
                answer = worker.answer(seconds)
            except TimeoutError:
                self._close()
                note = f"no result after {seconds:g} s"
                yield self._bad(op, current, Verdict.HANGS, note)
                return
            except _Ended as ended:
                self._close()
                yield self._bad(op, current, Verdict.CRASHES, str(ended))
                return
            current = answer.get("started", current)
            seconds = self._settings.seconds if "running" in answer else _HOST_SECONDS
            if "variant" in answer:
                pending.discard(answer["variant"])
                yield self._result(op, answer)
                if answer.get("lost"):
                    self._close()
                    return

    def _ready_worker(self) -> _Worker:
        if self._worker is None:
            self._worker = _Worker(self._settings)
            try:
                self._worker.answer(_HOST_SECONDS)
            except (TimeoutError, _Ended) as error:
                self._close()
                why = str(error) or f"no answer after {_HOST_SECONDS:g} s"
                raise ImportFailure(f"The device cannot be opened: {why}") from None
        return self._worker

    def _close(self) -> None:
        if self._worker is not None:
            self._worker.close()
        self._worker = None

    def _bad(self, op: str, variant: str, verdict: Verdict, note: str) -> Result:
        return Result(op, variant, Finding(variant, self._digests[variant], verdict, note=note))

    def _result(self, op: str, answer: Mapping[str, Any]) -> Result:
        variant = answer["variant"]
        if "verdict" not in answer:
            return Result(op, variant, None, answer.get("skipped", ""))
        found = Finding(
            variant,
            self._digests[variant],
            Verdict(answer["verdict"]),
            answer.get("cases", 0),
            answer.get("error", 0.0),
            tuple(answer.get("at", ())),
            answer.get("case", ""),
            answer.get("note", ""),
        )
        return Result(op, variant, found)
