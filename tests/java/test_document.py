"""The program of docs/how-to/android-and-java.md, compiled and run as the page describes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.java.models import write_digits

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to/android-and-java.md"
IMAGES = 4  # that the program classifies


def test_the_program_runs(request: pytest.FixtureRequest, jni: Path, tmp_path: Path) -> None:
    option = request.config.getoption
    program = re.search(r"```java\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert program is not None
    (tmp_path / "Digits.java").write_text(program[1])
    write_digits(tmp_path)
    jar = option("--class-path").split(":")[0]
    javac = ["javac", "--release", "8", "-Xlint:all,-options", "-Werror", "-cp", jar, "Digits.java"]
    done = subprocess.run(javac, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    java = [option("--java"), "-cp", f"{jar}:.", f"-Djava.library.path={jni.parent}"]
    command = [*java, "Digits", "digits.slg", "images.bin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    first, *digits = done.stdout.split("\n")[:-1]
    labels = np.load(ROOT / "examples/digits/logits.npy")[:IMAGES].argmax(axis=1)
    assert [int(digit) for digit in digits] == labels.tolist(), done.stderr
    assert first == "image: float32[batch, 1, 8, 8]"
    command[-2] = "missing.slg"
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    *_warnings, message = done.stderr.strip().split("\n")  # of Java about native libraries
    assert message.startswith("NOT_FOUND: File 'missing.slg' cannot be read: ")
