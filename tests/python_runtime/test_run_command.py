"""spirloom run: graph files, models that are imported, language models, and its help."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from spirloom import cli
from spirloom.programs import command, find_program

from tests.python_runtime.conftest import relu_graph, spirloom_run

onnx = pytest.importorskip("onnx")
ROOT = Path(__file__).resolve().parents[2]
STORY = ROOT / "examples/story/story.slg"


def write_relu(path: Path) -> None:
    """y = relu(x), float32[rows, 2]."""
    helper, dtype = onnx.helper, onnx.TensorProto.FLOAT
    x, y = (helper.make_tensor_value_info(name, dtype, ["rows", 2]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "net", [x], [y])
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines by which the process would be replaced."""
    found: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, command: found.append(command))
    return found


def test_graph_files_replace_the_process(became: list[list[str]]) -> None:
    """Also with options that argparse would interpret."""
    cli.main(["run", "net.slg", "--input", "x=x.npy", "-v"])
    assert became == [command("spirloom-run", ["net.slg", "--input", "x=x.npy", "-v"])]


def test_prompts_are_for_spirloom_llm(became: list[list[str]]) -> None:
    for prompt in (["-p", "Once"], ["--prompt=Once"], ["--chat"], ["--tokenize"]):
        cli.main(["run", "a.slg", *prompt])
        assert became.pop() == command("spirloom-llm", ["a.slg", *prompt])


def test_a_language_model_alone_chats(became: list[list[str]], tmp_path: Path) -> None:
    story = str(STORY)
    cli.main(["run", story])
    assert became.pop() == command("spirloom-llm", [story, "--chat"])
    cli.main(["run", story, "--random"])
    assert became.pop() == command("spirloom-run", [story, "--random"])
    other, damaged = tmp_path / "net.slg", tmp_path / "damaged.slg"
    other.write_bytes(relu_graph())
    damaged.write_bytes(relu_graph()[:-50])
    for path in (str(other), str(damaged), "absent.slg"):
        cli.main(["run", path])
        assert became.pop() == command("spirloom-run", [path])


def test_text(tmp_path: Path) -> None:
    output = spirloom_run(tmp_path, STORY, "-p", "Once upon", "--tokens", "4")
    assert len(output.split()) >= 2
    assert output == spirloom_run(tmp_path, "--tokens", "4", "--prompt=Once upon", STORY)


def test_a_model_is_imported(tmp_path: Path) -> None:
    """Options of the import and of the run, in any order; no file is left."""
    write_relu(tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", np.array([[-1, 2], [3, -4]], np.float32))
    options = ["--dim", "rows=1..8", "--input", "x=x.npy", "--output-dir", "out", "--fp16"]
    output = spirloom_run(tmp_path, *options, "net.onnx")
    kept = "To keep the graph: spirloom import net.onnx --dim rows=1..8 --fp16\n"
    assert f"net.onnx was imported for this run. {kept}" in output
    assert np.load(tmp_path / "out/y.npy").tolist() == [[0, 2], [3, 0]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.onnx", "out", "x.npy"]


def test_errors_of_the_import(tmp_path: Path) -> None:
    write_relu(tmp_path / "net.onnx")
    output = spirloom_run(tmp_path, "net.onnx", "--random", code=1)
    assert "Set them with --dim rows=N" in output
    assert "Cannot read no.onnx: No such file" in spirloom_run(tmp_path, "no.onnx", code=1)
    output = spirloom_run(tmp_path, "net.onnx", "--dim", "rows=2", "--fast", code=2)
    assert "The following argument was not expected: --fast" in output


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Every option of both programs, in a text that is not wider than a page of code."""
    for words in (["run"], ["run", "--help"], ["run", "net.slg", "-h"]):
        assert cli.main(words) == 0
        text = capsys.readouterr().out
        assert text.startswith("usage: spirloom run NET.slg")
    for name in ("spirloom-run", "spirloom-llm"):
        words = [str(find_program(name)), "--help"]
        native = subprocess.run(words, capture_output=True, encoding="utf-8", check=True).stdout
        options = set(re.findall(r"^ +(?:-\w, *)?(--[\w-]+)", native, re.MULTILINE))
        assert len(options) > 10
        assert options - {"--help"} - set(re.findall(r"--[\w-]+", text)) == set()
    assert {"--context", "--kv-cache", "--record"} <= set(re.findall(r"--[\w-]+", text))
    assert max(map(len, text.splitlines())) <= 100


def test_help_without_the_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spirloom.programs.find", lambda: None)
    monkeypatch.setattr("spirloom.programs.NATIVE", tmp_path)
    assert cli.main(["run", "--help"]) == 0
    assert "spirloom-run was not found." in capsys.readouterr().out


def test_the_kind_is_that_of_the_content(tmp_path: Path) -> None:
    """A graph file runs whatever its name is."""
    (tmp_path / "net.bin").write_bytes(relu_graph())
    assert "'y': float32 [5]" in spirloom_run(tmp_path, "net.bin", "--random")


def test_an_existing_directory_of_outputs_is_not_a_model(tmp_path: Path) -> None:
    (tmp_path / "net.slg").write_bytes(relu_graph())
    (tmp_path / "out").mkdir()
    spirloom_run(tmp_path, "--output-dir", "out", "net.slg", "--random")
    assert np.load(tmp_path / "out/y.npy").shape == (5,)
