"""Runs a Python reader over many damaged inputs, all of them in this process.

Input N of a seed is the same whatever ran before: `--seed S --first N --count 1` repeats it.
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
MEMORY_BYTES = 8 << 30  # of addresses, not of what is in use
SECONDS_EACH = 20.0  # of this process's own time


class TooSlow(Exception):
    """An input takes longer than any honest one."""


@dataclass(frozen=True, slots=True)
class Target:
    """A reader. `make` draws an input; `run` reads it and tells whether it was accepted. Whatever
    it raises is a finding: the errors that are meant for users are its own to catch."""

    make: Callable[[random.Random], dict[str, bytes]]  # file name → content
    run: Callable[[dict[str, bytes]], bool]


@dataclass(slots=True)
class Result:
    """What became of the inputs."""

    ran: int = 0
    accepted: int = 0
    seconds: float = 0.0
    findings: dict[str, list[int]] = field(default_factory=dict)  # by where it broke: numbers

    def __str__(self) -> str:
        rate = self.ran / self.seconds if self.seconds else 0
        text = f"{self.ran} inputs, {self.accepted} accepted, {rate:.0f} a second"
        for where, numbers in sorted(self.findings.items()):
            text += f"\n{len(numbers)} times, first by input {numbers[0]}: {where}"
        return text


def campaign(
    target: Target,
    seed: int,
    count: int,
    first: int = 0,
    minutes: float = 0.0,
    keep: Path | None = None,
) -> Result:
    """Runs `count` inputs, or as many as take so many minutes. `keep`: a folder for the first input
    that breaks at each place."""
    result, begin = Result(), time.monotonic()
    number = first
    with _bounded():
        while time.monotonic() - begin < 60 * minutes if minutes else number < first + count:
            _one(target, seed, number, result, keep)
            number += 1
    result.seconds = time.monotonic() - begin
    return result


def _one(target: Target, seed: int, number: int, result: Result, keep: Path | None) -> None:
    files = target.make(random.Random(f"{seed}/{number}"))
    result.ran += 1
    signal.setitimer(signal.ITIMER_PROF, SECONDS_EACH)
    try:
        result.accepted += target.run(files)
    except Exception as error:
        where = _where(error)
        result.findings.setdefault(where, []).append(number)
        if keep is not None and len(result.findings[where]) == 1:
            _save(files, keep / f"{seed}-{number}", error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _where(error: Exception) -> str:
    """The error's type, and the innermost line of the project that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f.filename.startswith(str(ROOT)) and "/.venv/" not in f.filename]
    place = ours[-1] if ours else frames[-1]
    return f"{type(error).__name__} at {place.filename}:{place.lineno}"


def _save(files: dict[str, bytes], folder: Path, error: Exception) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    lines = "".join(traceback.format_exception(error))
    (folder / "traceback.txt").write_text(lines, encoding="utf-8", errors="replace")


@contextmanager
def _bounded() -> Iterator[None]:
    """Bounds the memory of this process, and the time until `_too_slow`."""
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
    """The command line of a target. Exit code 1: something was found."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=1000, help="inputs (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=0.0, help="instead of a count")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument(
        "--first", type=int, default=0, metavar="N", help="the number to begin with"
    )
    parser.add_argument("--findings", type=Path, metavar="DIR", help="keep what broke it there")
    options = parser.parse_args()
    result = campaign(
        target, options.seed, options.count, options.first, options.minutes, options.findings
    )
    print(result)
    return 1 if result.findings else 0


def exit_with(description: str | None, target: Target) -> None:
    """Ends a program that is one target."""
    sys.exit(main((description or "").splitlines()[0], target))
