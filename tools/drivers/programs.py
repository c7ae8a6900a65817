"""Runs other test programs on a driver: models of the public API, and networks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.sample import seed
from tools.drivers.cases import CrashError, Outcome
from tools.vulkan_driver import with_driver

_FAILED = re.compile(r"^\[  FAILED  \] (\S+) \(", re.MULTILINE)
_PASSED = re.compile(r"^\[  PASSED  \] (\d+) test", re.MULTILINE)
_SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) test", re.MULTILINE)
# Small networks; the others take minutes on a CPU. The transformer masks with infinities, which
# fp16 images of SwiftShader do not store.
NETWORKS = "squeezenet1_1-1 or mobilenet_v2-1 or (transformer and f32)"


def run_tests(
    program: Path, driver: Path, part: int, tests: str = "*", index: int | None = None
) -> Outcome:
    """Runs one in `part` of the matching tests of a GoogleTest program, by default by the
    seed of samples.

    Raises CrashError.
    """
    index = seed() % part if index is None else index
    environment = with_driver(driver) | {
        "GTEST_TOTAL_SHARDS": str(part),
        "GTEST_SHARD_INDEX": str(index),
    }
    done = subprocess.run(
        [program, "--gtest_brief=1", f"--gtest_filter={tests}"],
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    passed = _PASSED.search(done.stdout)
    if passed is None:
        raise CrashError(f"{program.name} ended with {done.returncode}:\n{done.stdout[-2000:]}")
    skipped = _SKIPPED.search(done.stdout)
    failures = dict.fromkeys(_FAILED.findall(done.stdout), done.stdout[-2000:])
    return Outcome(int(passed[1]), int(skipped[1]) if skipped else 0, failures)


def run_networks(root: Path, build: Path, driver: Path) -> bool:
    """Compares networks in all storages, fp32 and fp16, with PyTorch. Returns whether they
    agree.
    """
    command = [sys.executable, "-m", "pytest", "-q", "tests/network/test_networks.py"]
    options = [
        f"--spirloom-run={build / 'bin' / 'spirloom-run'}",
        f"--network-cache={build / 'networks'}",
        f"-k={NETWORKS}",
    ]
    done = subprocess.run(command + options, cwd=root, env=with_driver(driver), check=False)
    return done.returncode == 0
