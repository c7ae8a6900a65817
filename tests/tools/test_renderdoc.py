"""spirloom-run --renderdoc: the capture contains the dispatches with the names of their nodes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.tools.programs import AddModel, Program, ReluModel

pytestmark = pytest.mark.skipif(
    shutil.which("renderdoccmd") is None, reason="RenderDoc (renderdoccmd) is not installed."
)


def test_a_capture_has_labels(
    spirloom_run: Program,
    relu_model: ReluModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = spirloom_run(
        relu_model.path, "--input", f"x={relu_model.x}", "--repeat", "2", "--renderdoc", "2"
    )
    assert done.returncode == 0, done.stderr
    line = done.stdout.splitlines()[0]
    assert line.startswith("RenderDoc capture: ")
    capture = Path(line.partition(": ")[2])
    assert capture.stem.startswith("relu")
    xml = tmp_path / "capture.xml"
    command = ["renderdoccmd", "convert", "-f", str(capture), "-o", str(xml), "-c", "xml"]
    subprocess.run(command, check=True, capture_output=True)
    chunks = list(ElementTree.parse(xml).getroot().iter("chunk"))
    calls = [str(chunk.get("name")) for chunk in chunks]
    begin = calls.index("vkCmdBeginDebugUtilsLabelEXT")
    label = chunks[begin].find(".//string[@name='pLabelName']")
    assert label is not None and label.text == "relu"
    end = calls.index("vkCmdEndDebugUtilsLabelEXT")
    assert any(name.startswith("vkCmdDispatch") for name in calls[begin:end])
    assert "vkQueueSubmit" in calls[end:], "the captured run"


def test_too_few_runs(spirloom_run: Program, add_model: AddModel) -> None:
    done = spirloom_run(*add_model.good, "--renderdoc", "2")
    assert done.returncode == 2
    assert "--renderdoc 2 requires as many runs; there were 1. Use --repeat." in done.stderr
