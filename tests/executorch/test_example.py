"""examples/executorch: exported once, run from Python and from C++."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import executorch
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/executorch"
PACKAGE = Path(next(iter(executorch.__path__))) / "share/cmake"


def call(*command: str | Path, code: int = 0) -> str:
    """The output of a command."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example")
    call(sys.executable, EXAMPLE / "export.py", folder)
    program = (folder / "net.pte").read_bytes()
    assert b"SpirloomBackend" in program
    assert b"aten::_pdist_forward" in program  # the node between the delegates
    return folder


def test_python(exported: Path) -> None:
    assert "from PyTorch" in call(sys.executable, EXAMPLE / "run.py", exported)


def test_cpp(exported: Path, tmp_path: Path) -> None:
    """Built against the installed package."""
    prefix, directory = tmp_path / "installed", tmp_path / "build"
    call("cmake", "--install", ROOT / "build/release", "--prefix", prefix)
    call(
        "cmake", "-S", EXAMPLE, "-B", directory, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-Dexecutorch_DIR={PACKAGE}",
    )  # fmt: skip
    call("cmake", "--build", directory)
    program = directory / "spirloom_executorch_example"
    assert "from PyTorch" in call(program, exported)
    (exported / "net.pte").write_bytes((exported / "net.pte").read_bytes().replace(b"SLG", b"SLH"))
    assert "ExecuTorch's error" in call(program, exported, code=1)
