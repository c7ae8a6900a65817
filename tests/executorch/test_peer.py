"""Runs ExecuTorch's tests of its Vulkan delegate, from its wheel, with Spirloom as the backend."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import executorch
import pytest

HERE = Path(__file__).resolve().parent
TESTS = Path(next(iter(executorch.__path__))) / "backends/vulkan/test/test_vulkan_delegate.py"


def expected_failures() -> dict[str, str]:
    """Test → reason of the failure."""
    lines = (HERE / "peer_failures.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.split(maxsplit=1) for line in lines if not line.startswith("#"))
    return {row[0]: row[1] for row in rows}


def test_delegate(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--peer"):
        pytest.skip("--peer is not given")
    program = "import tests.executorch.programs, pytest, sys; sys.exit(pytest.main())"
    arguments = ["-v", "-rfE", "--tb=no", "-c", "/dev/null", "-p", "no:cacheprovider", str(TESTS)]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE.parent.parent,
    )
    failed = set(re.findall(r"^(?:SUB)?(?:FAILED|ERROR).*::(\w+)", done.stdout, re.MULTILINE))
    assert "passed" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    assert failed == expected_failures().keys()
