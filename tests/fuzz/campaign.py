"""Runs a Python reader on many damaged inputs in one process.

Inputs are independent: `--seed S --first N --count 1` reproduces input N.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[2]
MEMORY_BYTES = 8 << 30  # limit of address space
SECONDS_EACH = 20.0  # limit of CPU time per input


class TooSlow(Exception):
    """An input exceeds the time limit."""


@dataclass(frozen=True, slots=True)
class Target:
    """A reader. `make` generates an input; `run` reads it and returns whether it was accepted.
    `run` must catch the errors that are meant for users: any exception is a finding."""

    make: Callable[[random.Random], dict[str, bytes]]  # file name → content
    run: Callable[[dict[str, bytes]], bool]


@dataclass(slots=True)
class Result:
    """Counts and findings of a campaign."""

    ran: int = 0
    accepted: int = 0
    seconds: float = 0.0
    findings: dict[str, list[int]] = field(default_factory=dict)  # location → input indices

    def __str__(self) -> str:
        rate = self.ran / self.seconds if self.seconds else 0
        text = f"{self.ran} inputs, {self.accepted} accepted, {rate:.0f} inputs/s"
        for where, indices in sorted(self.findings.items()):
            text += f"\n{len(indices)} times, first at input {indices[0]}: {where}"
        return text


def campaign(
    target: Target,
    seed: int,
    count: int,
    first: int = 0,
    minutes: float = 0.0,
    keep: Path | None = None,
) -> Result:
    """Runs `count` inputs, or for `minutes` if nonzero. The first input of each finding is saved in
    the directory `keep`."""
    result, begin = Result(), time.monotonic()
    index = first
    with _bounded():
        while time.monotonic() - begin < 60 * minutes if minutes else index < first + count:
            _one(target, seed, index, result, keep)
            index += 1
    result.seconds = time.monotonic() - begin
    return result


def _one(target: Target, seed: int, index: int, result: Result, keep: Path | None) -> None:
    files = target.make(random.Random(f"{seed}/{index}"))
    result.ran += 1
    signal.setitimer(signal.ITIMER_PROF, SECONDS_EACH)
    try:
        result.accepted += target.run(files)
    except Exception as error:
        where = _where(error)
        result.findings.setdefault(where, []).append(index)
        if keep is not None and len(result.findings[where]) == 1:
            _save(files, keep / f"{seed}-{index}", error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _where(error: Exception) -> str:
    """The error's type and the innermost frame in the project."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f.filename.startswith(str(ROOT)) and "/.venv/" not in f.filename]
    frame = ours[-1] if ours else frames[-1]
    return f"{type(error).__name__} at {frame.filename}:{frame.lineno}"


def _save(files: dict[str, bytes], folder: Path, error: Exception) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    lines = "".join(traceback.format_exception(error))
    (folder / "traceback.txt").write_text(lines, encoding="utf-8", errors="replace")


@contextmanager
def _bounded() -> Iterator[None]:
    """Limits the process's address space and, with SIGPROF, the time per input."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGPROF, _too_slow)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.signal(signal.SIGPROF, handler)


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow(f"{SECONDS_EACH} seconds")


def main(description: str, target: Target) -> int:
    """The command line of a target. Exit code 1 if there are findings."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--count", type=int, default=1000, help="number of inputs (default: %(default)s)"
    )
    parser.add_argument("--minutes", type=float, default=0.0, help="time limit; replaces --count")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default: %(default)s)")
    parser.add_argument(
        "--first", type=int, default=0, metavar="N", help="index of the first input"
    )
    parser.add_argument("--findings", type=Path, metavar="DIR", help="save failing inputs to DIR")
    options = parser.parse_args()
    result = campaign(
        target, options.seed, options.count, options.first, options.minutes, options.findings
    )
    print(result)
    return 1 if result.findings else 0


def exit_with(description: str | None, target: Target) -> None:
    """Runs main() and exits."""
    sys.exit(main((description or "").splitlines()[0], target))
