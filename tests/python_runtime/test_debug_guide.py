"""The guide "Debug a wrong result" follows a planted fault from the symptom to the reproducer: its
commands run, and print what it shows. spirloom bug-report.
"""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest
import spirloom
from spirloom.cli import main
from spirloom.debug.bug_report import Part, Result, contents, run_part

from tests.python_runtime.debug_models import write_layer_norm_model
from tests.python_runtime.faulty_library import SHADERC, write_faulty_library
from tests.tutorial.document import run

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/how-to/debug-a-wrong-result.md"


@pytest.mark.skipif(not Path(SHADERC).exists(), reason="The shader compiler is not built.")
def test_the_example(runtime: spirloom.Runtime, tmp_path: Path) -> None:
    del runtime
    pytest.importorskip("onnxruntime")
    write_layer_norm_model(tmp_path / "net.onnx")
    write_faulty_library(tmp_path / "faulty.slpack")
    program = tmp_path / "bin/spirloom"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m spirloom.cli "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    run(GUIDE, "4. Example: a wrong kernel", tmp_path, {**os.environ, "PATH": path})


def test_a_bug_report(
    runtime: spirloom.Runtime, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del runtime
    model = write_layer_norm_model(tmp_path / "net.onnx")
    report = tmp_path / "report.zip"
    assert main(["bug-report", str(model), "--random", "-o", str(report)]) == 0
    text = capsys.readouterr().out
    assert "missing: " not in text
    with zipfile.ZipFile(report) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert list(members) == [
        "CONTENTS.txt", "doctor.json", "model.txt", "plan.txt", "profile.txt", "validation.txt",
        "compare.txt", "verify.json", "run.slreplay",
    ]  # fmt: skip
    assert members["CONTENTS.txt"].decode() in text
    assert json.loads(members["doctor.json"])["spirloom"]["version"] == spirloom.__version__
    assert b"aten.native_layer_norm" in members["model.txt"]
    assert b"0 above the tolerance" in members["compare.txt"]
    verified = json.loads(members["verify.json"])
    assert verified["model"] == {"compared": 3, "problem": ""}
    assert {"layer_norm_f32_buffer"} <= {each["variant"] for each in verified["kernels"]}
    replay = tmp_path / "run.slreplay"
    replay.write_bytes(members["run.slreplay"])
    assert main(["replay", str(replay), "--compare"]) == 0


def test_parts_that_fail(tmp_path: Path) -> None:
    """They contain the messages; a file that was not written is listed as missing."""

    def part(name: str, code: str, writes: bool = False) -> Result:
        return run_part(Part(name, "a part", (sys.executable, "-c", code), writes), tmp_path)

    fails = "import sys; print('out', flush=True); sys.exit('the message')"
    results = [part("bad.txt", fails), part("run.slreplay", fails, writes=True),
               run_part(Part("none.txt", "no program", ("/none/such",)), tmp_path)]  # fmt: skip
    assert results[0].data == b"out\nthe message\n"
    assert [each.data for each in results[1:]] == [None, None]
    text = contents(results, "Title")
    assert "bad.txt: a part (exit code 1)\n" in text
    assert "missing: run.slreplay: a part (exit code 1: the message)\n" in text
    assert "missing: none.txt: no program (did not start: No such file or directory)\n" in text


def test_a_report_of_a_missing_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bug-report", "none.slg"]) == 1
    assert "Cannot read none.slg: No such file or directory." in capsys.readouterr().err
