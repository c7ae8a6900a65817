"""Runs the operator cases on a driver."""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.sample import seed
from tools.vulkan_driver import with_driver

_FAILED = re.compile(r"^\[  FAILED  \] Op\.(\S+)", re.MULTILINE)
_PASSED = re.compile(r"^\[  PASSED  \] (\d+) test", re.MULTILINE)
_SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) test", re.MULTILINE)
_RAN = re.compile(r"^\[==========\] \d+ tests? from .* ran", re.MULTILINE)


class CrashError(Exception):
    """The program ended before its last case. The message has the end of its output."""


@dataclass(slots=True)
class Outcome:
    """The numbers of tests that passed and that the device cannot run, and the failed ones with
    their messages.
    """

    passed: int
    skipped: int
    failures: dict[str, str]

    def add(self, other: Outcome) -> None:
        """Adds the tests of another program."""
        self.passed += other.passed
        self.skipped += other.skipped
        self.failures |= other.failures


def run_cases(
    program: Path, driver: Path, part: int, variants: int = 1, index: int | None = None
) -> Outcome:
    """Runs one in `part` of each variant's cases, of one in `variants` of the variants, by default
    by the seed of samples, in a process per core. Mesa's software driver compiles without
    optimizations, which take most of its time.

    Raises CrashError.
    """
    processes = os.cpu_count() or 1
    environment = with_driver(driver) | {
        "SPIRLOOM_CASE_SHARDS": str(part),
        "SPIRLOOM_VARIANT_SHARDS": str(processes * variants),
        "GALLIVM_PERF": "nopt",
    }
    index = seed() % variants if index is None else index
    first = index * processes
    running = [
        subprocess.Popen(
            [program, "--gtest_brief=1", "--gtest_filter=Op.*"],
            env=environment | {"SPIRLOOM_VARIANT_SHARD": str(first + shard)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        for shard in range(processes)
    ]
    total = Outcome(0, 0, {})
    # Read at once: a process whose pipe is full waits.
    with ThreadPoolExecutor(processes) as readers:
        outputs = list(readers.map(_output, running))
    for process, output in zip(running, outputs, strict=True):
        if not _RAN.search(output):
            raise CrashError(f"{program.name} ended with {process.returncode}:\n{output[-2000:]}")
        _add(total, output)
    return total


def _output(process: subprocess.Popen[str]) -> str:
    output: str = process.communicate()[0]
    return output


def _add(total: Outcome, output: str) -> None:
    total.passed += sum(map(int, _PASSED.findall(output)))
    total.skipped += sum(map(int, _SKIPPED.findall(output)[-1:]))
    for block in re.split(r"^\S+: Failure$", output, flags=re.MULTILINE)[1:]:
        name = _FAILED.search(block)
        if name:
            total.failures.setdefault(name[1], block[: name.start()].strip())
