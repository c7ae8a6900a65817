"""The C example classifies digits."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits"
SCANS = 5


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = tmp_path_factory.mktemp("model") / "digits.slg"
    batch = f"batch={SCANS}"
    spirloom = ROOT / ".venv/bin/spirloom"
    done = run(spirloom, "import", DIGITS / "digits.onnx", "-o", model, "--dim", batch)
    assert done.returncode == 0, done.stderr
    return model


def test_classifies_the_scans(digits: Path, request: pytest.FixtureRequest) -> None:
    done = run(request.config.getoption("--example"), digits, DIGITS / "images.npy")
    assert done.returncode == 0, done.stderr
    labels = np.load(DIGITS / "labels.npy")[:SCANS]
    expected = [f"scan {i}: digit {label}" for i, label in enumerate(labels)]
    assert done.stdout.splitlines() == expected


def test_reports_errors(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    example = request.config.getoption("--example")
    done = run(example, tmp_path / "none.slg", DIGITS / "images.npy")
    assert done.returncode == 1
    assert done.stderr.startswith("not found: ")
    assert "none.slg" in done.stderr
