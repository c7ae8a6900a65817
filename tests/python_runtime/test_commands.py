"""The commands that need the runtime: spirloom doctor and spirloom run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import spirloom
from spirloom import cli, doctor, programs
from spirloom.commands import list_ops


def test_doctor(runtime: spirloom.Runtime, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert f"Spirloom    {spirloom.__version__} in " in said
    assert f"Device 0    {spirloom.devices()[0].name} (" in said
    assert "lacks " in said
    assert "PROBLEM" not in said
    assert f"Operators   {len(runtime.operator_names())}, on {runtime.device.name}" in said


def test_doctor_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert set(report["devices"][0]) >= {"name", "driver", "features", "lacks", "uuid"}
    assert report["vulkan"]["loader"]["version"].startswith("1.")
    assert report["library"]["version"] == spirloom.__version__
    assert report["python"]["modules"]["numpy"]


def doctor_elsewhere(**environment: str) -> str:
    """What it says in a process with these variables; it must find a problem."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    command = [sys.executable, "-m", "spirloom.cli", "doctor"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_doctor_without_drivers(tmp_path: Path) -> None:
    nothing = str(tmp_path / "none.json")
    said = doctor_elsewhere(VK_DRIVER_FILES=nothing, VK_ICD_FILENAMES=nothing)
    assert "PROBLEM     There is no Vulkan driver: install the GPU's, or" in said
    assert f"VK_DRIVER_FILES={nothing}" in said


def test_doctor_without_the_library(tmp_path: Path) -> None:
    said = doctor_elsewhere(SPIRLOOM_LIBRARY=str(tmp_path / "libspirloom.so.1"))
    assert f"PROBLEM     Cannot use {tmp_path}/libspirloom.so.1: " in said


def test_doctor_counts_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spirloom").mkdir()
    (tmp_path / "spirloom/pipelines.bin").write_bytes(b"12345")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert doctor.examine()["cache"] == {
        "folder": str(tmp_path / "spirloom"),
        "files": 1,
        "bytes": 5,
    }


def test_run_becomes_spirloom_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With options that argparse would take for its own."""
    became: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, command: became.append(command))
    monkeypatch.setattr(programs, "find_run", lambda: (tmp_path / "spirloom-run", []))
    cli.main(["run", "--help"])
    cli.main(["run", "net.slg", "--input", "x=x.npy", "-v"])
    program = str(tmp_path / "spirloom-run")
    assert became == [[program, "--help"], [program, "net.slg", "--input", "x=x.npy", "-v"]]


def test_the_wheels_kernels_come_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--library takes all that follows; --no-builtin means those of the user alone."""
    kernels = ["--library", "shaders_all.slpack"]
    monkeypatch.setattr(programs, "find_run", lambda: (tmp_path / "run", kernels))
    assert programs.run_arguments(["a.slg"])[1:] == ["a.slg", "--no-builtin", *kernels]
    own = ["a.slg", "--no-builtin", "--library", "own.slpack"]
    assert programs.run_arguments(own)[1:] == own


@pytest.mark.parametrize(("module", "extra"), cli.EXTRAS.items())
def test_a_module_that_is_not_there(
    module: str, extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise ModuleNotFoundError(f"No module named '{module}'", name=module)

    monkeypatch.setattr(list_ops, "run", fail)
    assert cli.main(["ops"]) == 1
    said = capsys.readouterr().err
    assert f"requires the Python module '{module}'" in said
    assert f"pip install 'spirloom[{extra}]'." in said


def test_a_module_of_our_own_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of ours keeps its traceback."""

    def fail(_: object) -> int:
        raise ModuleNotFoundError("No module named 'spirloom.x'", name="spirloom.x")

    monkeypatch.setattr(list_ops, "run", fail)
    with pytest.raises(ModuleNotFoundError):
        cli.main(["ops"])
