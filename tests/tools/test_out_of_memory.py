"""Programs report an allocation that fails, at any place, as an error."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

LIMIT = 1 << 16
LONG = "a" * 100_000  # Programs copy an argument of this size.


@pytest.mark.parametrize(
    ("program", "option"),
    [
        ("spirloom-executor-runner", "--model_path="),
        ("spirloom-kernels", ""),
        ("spirloom-llm", ""),
        ("spirloom-ops", ""),
        ("spirloom-run", ""),
        ("spirloom-shader-stats", ""),
        ("spirloom-shaderc", ""),
    ],
)
def test_a_failed_allocation_is_an_error(
    request: pytest.FixtureRequest, program: str, option: str
) -> None:
    path: Path = request.config.getoption("--bin-dir") / program
    library: Path = request.config.getoption("--pack-dir") / "libfailing_new.so"
    if missing := [each.name for each in (path, library) if not each.exists()]:
        pytest.skip(f"Not part of this build: {', '.join(missing)}.")
    environment = {**os.environ, "LD_PRELOAD": str(library), "SPIRLOOM_TEST_MAX_NEW": str(LIMIT)}
    done = subprocess.run(
        [path, option + LONG],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=60,
    )
    assert done.returncode == 1, done.stderr[:200]
    assert done.stderr.endswith(": Host memory is exhausted.\n")
