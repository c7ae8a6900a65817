"""The binaries of the wheel for Windows (`./dev wheel --windows`, then `--wheel-dir dist`)."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.windows.conftest import WINE, Digits, Windows

LOGIT_TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def native(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked binaries of the wheel."""
    directory = request.config.getoption("--wheel-dir")
    if directory is None:
        pytest.skip("No --wheel-dir with a wheel for Windows.")
    (wheel,) = directory.glob("spirloom-*-win_amd64.whl")
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site / "spirloom/_native"


def test_compressed_shaders(windows: Windows, native: Path, digits: Digits, tmp_path: Path) -> None:
    arguments = [f"Z:{digits.model}", "--input", f"image=Z:{digits.input}"]
    arguments += ["--no-builtin", "--library", f"Z:{native}/shaders_all.slpack"]
    command = [str(WINE / "wine64"), str(native / "spirloom-run.exe"), *arguments]
    command += ["--output-dir", f"Z:{tmp_path}/out"]
    done = subprocess.run(command, env=windows.environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "out").iterdir()
    np.testing.assert_allclose(np.load(file), digits.logits, rtol=0, atol=LOGIT_TOLERANCE)


def test_contains_the_library(native: Path) -> None:
    assert (native / "spirloom.dll").exists()
    assert not list(native.glob("*.so*"))
