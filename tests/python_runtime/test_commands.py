"""The commands that require the runtime: spirloom doctor and spirloom run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import spirloom
from spirloom import cli, doctor, installation, programs
from spirloom.commands import list_ops
from spirloom.errors import ImportFailure


def test_doctor(runtime: spirloom.Runtime, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == 0
    output = capsys.readouterr().out
    assert f"Spirloom    {spirloom.__version__} in " in output
    assert f"Device 0    {spirloom.devices()[0].name} (" in output
    assert "lacks " in output
    assert ("loops to 65535 iterations" in output) == ("llvmpipe" in output)
    assert "PROBLEM" not in output
    assert f"Operators   {len(runtime.operator_names())}, on {runtime.device.name}" in output


def test_reports_contain_no_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Values of variables are shown only if their names are listed."""
    names = ("SPIRLOOM_API_KEY", "SPIRLOOM_TOKEN_OF_TOMORROW", "VK_SECRET", "OPENAI_API_KEY")
    for name in names:
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("VK_LOADER_DEBUG", "error")
    for arguments in (["doctor"], ["doctor", "--json"]):
        cli.main(arguments)
        output = capsys.readouterr().out
        assert "hunter2" not in output
        assert "SPIRLOOM_API_KEY" in output
    environment = json.loads(output)["environment"]
    assert environment["VK_LOADER_DEBUG"] == "error"
    assert environment["SPIRLOOM_API_KEY"] == doctor.NOT_SHOWN
    assert "OPENAI_API_KEY" not in environment


def test_doctor_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert set(report["devices"][0]) >= {"name", "driver", "features", "lacks", "uuid"}
    assert report["vulkan"]["loader"]["version"].startswith("1.")
    assert report["library"]["version"] == spirloom.__version__
    assert report["python"]["modules"]["numpy"]


def failing_doctor(**environment: str) -> str:
    """The output in a process with these environment variables. Expects a problem."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    command = [sys.executable, "-m", "spirloom.cli", "doctor"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_doctor_without_drivers(tmp_path: Path) -> None:
    nothing = str(tmp_path / "none.json")
    output = failing_doctor(VK_DRIVER_FILES=nothing, VK_ICD_FILENAMES=nothing)
    assert "PROBLEM     No Vulkan driver was found: install the GPU driver or" in output
    assert f"PROBLEM     VK_DRIVER_FILES names '{nothing}', which does not exist" in output
    assert f"VK_DRIVER_FILES={nothing}" in output
    # These, that of the library, and on machines with a GPU others.
    problems = [line for line in output.splitlines() if line.startswith("PROBLEM")]
    assert len(set(problems)) == len(problems) >= 3


def test_doctor_with_a_driver_whose_library_is_missing(tmp_path: Path) -> None:
    manifest = tmp_path / "nvidia_icd.json"
    content = {"library_path": "libGLX_nvidia_none.so.0", "api_version": "1.3.0"}
    manifest.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": content}))
    drivers = {"VK_DRIVER_FILES": str(manifest), "VK_ICD_FILENAMES": str(manifest)}
    output = failing_doctor(**drivers, container="podman", NVIDIA_DRIVER_CAPABILITIES="compute")
    assert f"PROBLEM     The driver manifest '{manifest}' names libGLX_nvidia_none.so.0, " in output
    assert "is 'compute', without 'graphics'. Start the container with " in output


def test_a_gpu_that_is_hidden_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While another device runs models."""
    monkeypatch.setattr(doctor, "find_faults", lambda drivers: ["/dev/dri is absent."])
    assert cli.main(["doctor"]) == 0
    output = capsys.readouterr().out
    assert "WARNING     /dev/dri is absent." in output
    assert "PROBLEM" not in output


def test_doctor_without_the_library(tmp_path: Path) -> None:
    output = failing_doctor(SPIRLOOM_LIBRARY=str(tmp_path / "libspirloom.so.1"))
    assert f"PROBLEM     Cannot use {tmp_path}/libspirloom.so.1: " in output


def test_doctor_counts_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spirloom").mkdir()
    (tmp_path / "spirloom/pipelines.bin").write_bytes(b"12345")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert doctor.examine()["cache"] == {
        "directory": str(tmp_path / "spirloom"),
        "files": 1,
        "bytes": 5,
    }
    report = doctor.to_text(doctor.examine())
    assert f"Cache       {tmp_path}/spirloom, 1 file, 5 bytes\n" in report


def test_a_relative_cache_directory_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by the runtime and `spirloom verify`."""
    monkeypatch.chdir(tmp_path)  # where the driver creates its cache
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert doctor.examine()["cache"]["directory"] == str(tmp_path / ".cache/spirloom")


@pytest.fixture
def native(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of programs of a wheel."""
    for name in ("spirloom-run", "spirloom-llm", "spirloom-ops"):
        (tmp_path / f"{name}{programs.SUFFIX}").touch()
    monkeypatch.setattr(programs, "NATIVE", tmp_path)
    return tmp_path


def test_the_wheels_kernels_come_last(native: Path) -> None:
    """--library accepts all following arguments; --no-builtin excludes the wheel's kernels."""
    kernels = ["--library", str(native / "shaders_all.slpack")]
    for name in ("spirloom-run", "spirloom-llm"):
        assert programs.command(name, ["a.slg"])[1:] == ["a.slg", "--no-builtin", *kernels]
        own = ["a.slg", "--no-builtin", "--library", "own.slpack"]
        assert programs.command(name, own)[1:] == own
    assert programs.command("spirloom-ops", ["--json"])[1:] == ["--json", *kernels]
    for own in (["--library", "own.slpack"], ["--library=own.slpack"]):
        assert programs.command("spirloom-ops", own)[1:] == own


def test_a_program_that_was_not_built(native: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find", lambda: None)
    monkeypatch.setattr(programs, "is_wheel", lambda: False)
    with pytest.raises(ImportFailure, match="spirloom-x was not found. Build it with"):
        programs.find_program("spirloom-x")
    monkeypatch.setattr(programs, "is_wheel", lambda: True)
    with pytest.raises(ImportFailure, match="This wheel was built without it"):
        programs.find_program("spirloom-x")


SERVER = ["starlette", "uvicorn", "tokenizers"]


@pytest.mark.parametrize("wheel", [True, False])
@pytest.mark.parametrize("module", [module for each in cli.OPTIONAL for module in each])
def test_a_missing_module(
    module: str, wheel: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    together = {
        "jinja2": ["jinja2", "yaml"],
        "yaml": ["jinja2", "yaml"],
        **dict.fromkeys(SERVER, SERVER),
    }.get(module, [module])
    pip = f"pip install {' '.join(together)}.".replace("yaml", "pyyaml")
    debian = " ".join(f"python3-{each}" for each in together)
    in_debian = "tokenizers" not in together
    remedy = f"apt-get install {debian} (Debian), or {pip}" if in_debian else pip

    def fail(_: object) -> int:
        raise ModuleNotFoundError(f"No module named '{module}'", name=module)

    monkeypatch.setattr(list_ops, "run", fail)
    monkeypatch.setattr(installation, "is_wheel", lambda: wheel)
    assert cli.main(["ops"]) == 1
    output = capsys.readouterr().err
    assert f"requires the Python module '{module}'" in output
    assert output.endswith(f" Install it: {pip if wheel else remedy}\n")


def test_modules_that_debian_lacks() -> None:
    assert installation.how_to_install("tokenizers") == "Install it: pip install tokenizers."


def test_a_missing_module_of_spirloom(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of Spirloom keeps its traceback."""

    def fail(_: object) -> int:
        raise ModuleNotFoundError("No module named 'spirloom.x'", name="spirloom.x")

    monkeypatch.setattr(list_ops, "run", fail)
    with pytest.raises(ModuleNotFoundError):
        cli.main(["ops"])
