"""The test programs in C++: platform layer, graphs without a device, a sample of operator cases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sample import seed
from tests.windows.conftest import Windows

ALL_CASES_S = 36000  # a time limit


@pytest.mark.parametrize("program", ["platform_test", "graph_test"])
def test_without_a_device(windows: Windows, program: str) -> None:
    # MinGW's std::filesystem::resize_file() is limited to 2 GiB.
    left_out = "--gtest_filter=-CacheFileTest.IgnoresAHugeFile"
    done = windows.run(program, "--gtest_brief=1", left_out)
    assert done.returncode == 0, done.stdout + done.stderr


def test_operators(windows: Windows, release: Path, request: pytest.FixtureRequest) -> None:
    """The cases compare each variant with its NumPy reference, as on the host."""
    parts: int = request.config.getoption("--case-parts")
    done = windows.run(
        "op_tests",
        "--gtest_brief=1",
        "--gtest_filter=Op.*",
        release / "tests/ops/op_tests.slcases",
        timeout=ALL_CASES_S / parts,
        GALLIVM_PERF="nopt",
        SPIRLOOM_CASE_VALIDATION="0",  # Wine does not pass the host's layers on
        GTEST_TOTAL_SHARDS=str(parts),
        GTEST_SHARD_INDEX=str(seed() % parts),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"\[  PASSED  \] (\d+) tests", done.stdout)
    assert passed and int(passed[1]) > 0, done.stdout
