"""spirloom bisect: planted faults of a kernel, a pass and a converter; rounding; reproducers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
from spirloom import graph_file, graph_reader
from spirloom.cli import main
from spirloom.debug.cases import BundledCase, add_case, cases_of
from spirloom.errors import ImportFailure
from spirloom.ir import DType, Graph, Node, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.passes import OPTIMIZATIONS

from tests.python_runtime.amber_script import check_modules, read
from tests.python_runtime.debug_models import write_layer_norm_model
from tests.python_runtime.faulty_library import SHADERC, write_faulty_library

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def model(runtime: spirloom.Runtime, tmp_path: Path) -> Path:
    del runtime
    return write_layer_norm_model(tmp_path / "net.onnx")


def bisected(capsys: Capture, model: Path, *options: str | Path) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of the command. The reproducer is next to the model."""
    output = model.with_name("reproducer.slg")
    code = main(["bisect", str(model), "--random", "--json", "-o", str(output), *map(str, options)])
    return code, json.loads(capsys.readouterr().out)


def check(path: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs `spirloom run --check`."""
    command = [sys.executable, "-m", "spirloom.cli", "run", str(path), "--check"]
    return subprocess.run([*command, *map(str, options)], capture_output=True, text=True)


def rights(found: dict[str, Any]) -> list[str]:
    return [each["name"] for each in found["experiments"] if each["right"]]


def test_nothing_is_wrong(model: Path, capsys: Capture) -> None:
    code, found = bisected(capsys, model, "--with", "reference")
    assert (code, found["kind"], found["reproducer"]) == (0, "none", None)
    assert not model.with_name("reproducer.slg").exists()


@pytest.mark.skipif(not Path(SHADERC).exists(), reason="The shader compiler is not built.")
def test_a_wrong_kernel(model: Path, tmp_path: Path, capsys: Capture) -> None:
    faulty = write_faulty_library(tmp_path / "faulty.slpack")
    code, found = bisected(capsys, model, "--with", "reference", "--override", faulty)
    assert (code, found["kind"]) == (1, "kernel")
    assert "of aten.native_layer_norm (norm) is wrong." in found["text"]
    assert {"without --override", "node: without --override"} <= set(rights(found))
    assert "node: buffer" not in rights(found)
    reproducer = model.with_name("reproducer.slg")
    graph = graph_reader.load(reproducer)
    assert [node.op for node in graph.nodes] == ["aten.native_layer_norm"]
    script = read(Path(found["amber"]))
    check_modules(script, tmp_path)
    assert len(script.runs) == 1
    good, bad = check(reproducer), check(reproducer, "--override", faulty)
    assert good.returncode == 0 and ": passed" in good.stdout, good.stderr
    assert bad.returncode == 1 and ": FAILED, max error" in bad.stdout, bad.stderr


def test_a_wrong_pass(model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")

    def negate(graph: Graph, library: OpLibrary) -> None:
        (node,) = (n for n in graph.nodes if n.op == "aten.native_layer_norm")
        bias = library.arg(node, "bias")
        assert isinstance(bias, Tensor) and bias.data is not None
        node.args = library.with_args(node, bias=constant(bias.name, -bias.data))

    monkeypatch.setitem(OPTIMIZATIONS, "simplify-views", negate)
    code, found = bisected(capsys, model)
    assert (code, found["kind"]) == (1, "pass")
    assert found["text"].startswith("The pass simplify-views makes the result wrong")
    assert "without passes" in rights(found)
    # The reproducer has the expected value of ONNX Runtime, and the fault of the graph.
    done = check(model.with_name("reproducer.slg"))
    assert done.returncode == 1 and "FAILED" in done.stdout


def test_a_wrong_converter(model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    from spirloom.commands import compare_model

    read = compare_model.read_graph

    def wrong(*arguments: Any) -> Graph:
        graph = read(*arguments)
        (node,) = (n for n in graph.nodes if n.op == "aten.native_layer_norm")
        node.args = OpLibrary().with_args(node, eps=0.5)
        return graph

    monkeypatch.setattr(compare_model, "read_graph", wrong)
    code, found = bisected(capsys, model)
    assert (code, found["kind"]) == (1, "import")
    assert "the import of norm (aten.native_layer_norm) differs from onnxruntime" in found["text"]


def test_rounding(model: Path, capsys: Capture) -> None:
    pytest.importorskip("onnxruntime")
    code, found = bisected(capsys, model, "--fp16", "--tolerance", "1e-5")
    assert (code, found["kind"]) == (1, "dtype")
    assert "in float32" in rights(found)


def relu() -> Graph:
    x, y = (Tensor(name, DType.F32, (3,)) for name in "xy")
    return Graph([x], [y], [Node("aten.relu", (x,), (y,), "relu")])


def test_cases_of_a_graph_file(runtime: spirloom.Runtime, tmp_path: Path) -> None:
    del runtime
    graph, path = relu(), tmp_path / "relu.slg"
    for factor in (1, -1):
        x = factor * np.array([-1, 0, 2], np.float32)
        add_case(graph, BundledCase({"x": x}, {"y": np.maximum(x, 0)}))
    graph_file.save(graph, path)
    cases = cases_of(graph_reader.load(path).attachments)
    assert [list(case.outputs["y"]) for case in cases] == [[0, 0, 2], [1, 0, 0]]
    done = check(path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "case 0, output 'y': passed, max error 0.0e+00\n"
        "case 1, output 'y': passed, max error 0.0e+00\n"
    )
    graph.attachments["cases/1/outputs/y"] = graph.attachments["cases/0/outputs/y"]
    graph_file.save(graph, path)
    done = check(path)
    assert done.returncode == 1
    assert "case 1, output 'y': FAILED, max error 2.0e+00, 2 of 3 elements" in done.stdout
    assert "1 of 2 outputs failed." in done.stderr
    assert check(path, "--atol", "2").returncode == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "has no test cases, which --check requires"),
        ({"cases/x/inputs/x": b""}, "is not cases/NUMBER/inputs/NAME"),
        ({"cases/9/inputs/x": b""}, "is not cases/NUMBER/inputs/NAME"),
        ({"cases/0/inputs/z": b""}, "is for an input that the model does not have"),
        ({"cases/0/outputs/x": b""}, "is for an output that the model does not have"),
        ({"cases/0/inputs/x": b"abc"}, "reading attachment 'cases/0/inputs/x'"),
    ],
)
def test_invalid_cases(
    runtime: spirloom.Runtime, tmp_path: Path, change: dict[str, bytes], message: str
) -> None:
    del runtime
    graph, path = relu(), tmp_path / "relu.slg"
    graph.attachments |= change
    graph_file.save(graph, path)
    done = check(path)
    assert done.returncode == 2 and message in done.stderr


def test_incomplete_cases(runtime: spirloom.Runtime, tmp_path: Path) -> None:
    del runtime
    graph, path = relu(), tmp_path / "relu.slg"
    three = np.zeros(3, np.float32)
    add_case(graph, BundledCase({"x": three}, {}))
    graph_file.save(graph, path)
    assert "'cases/0/outputs/…' is missing." in check(path).stderr
    graph.attachments.clear()
    add_case(graph, BundledCase({}, {"y": three}))
    graph_file.save(graph, path)
    assert "'cases/0/inputs/x' is missing." in check(path).stderr
    graph.attachments.clear()
    add_case(graph, BundledCase({"x": np.zeros(4, np.float32)}, {"y": three}))
    graph_file.save(graph, path)
    assert "contains float32 [4]; the tensor is float32 [3]." in check(path).stderr
    with pytest.raises(ImportFailure, match=r"'cases/0/inputs/x' is not a NumPy array"):
        cases_of({"cases/0/inputs/x": b"nothing"})
