"""Amber scripts of spirloom-run --amber and spirloom bisect. Amber itself is in no registry: the
structure is checked against its grammar, and the modules with SPIRV-Tools.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import spirloom
from spirloom import graph_file
from spirloom.debug.amber import write_script
from spirloom.debug.cases import BundledCase, add_case
from spirloom.debug.device_values import DeviceOptions
from spirloom.errors import ImportFailure
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.programs import command as program_command

from tests.python_runtime.amber_script import Script, check_modules, read

X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 12)
H = np.linspace(-1, 1, 24).astype(np.float16).reshape(2, 12)


@pytest.fixture
def case(runtime: spirloom.Runtime, tmp_path: Path) -> Path:
    """y = abs(relu(x)), half = softmax(h), zero = a == 0, with a test case."""
    del runtime
    x, a, y = (Tensor(name, DType.F32, (2, 12)) for name in ("x", "a", "y"))
    h, half = (Tensor(name, DType.F16, (2, 12)) for name in ("h", "half"))
    zero = Tensor("zero", DType.B8, (2, 12))
    nodes = [
        Node("aten.relu", (x,), (a,), "a"),
        Node("aten.abs", (a,), (y,), "y"),
        Node("aten._softmax", (h, -1), (half,), "half"),
        Node("aten.logical_not", (a,), (zero,), "zero"),
    ]
    graph = Graph([x, h], [y, half, zero], nodes)
    exponents = np.exp(H.astype(np.float64))
    shares = (exponents / exponents.sum(-1, keepdims=True)).astype(np.float16)
    expected = {"y": np.maximum(X, 0), "half": shares, "zero": X <= 0}
    add_case(graph, BundledCase({"x": X, "h": H}, expected))
    path = tmp_path / "case.slg"
    graph_file.save(graph, path)
    return path


def check_content(script: Script, directory: Path) -> None:
    check_modules(script, directory)
    assert "Storage16BitFeatures.storageBuffer16BitAccess" in script.features
    assert [run[0] for run in script.runs] == list(script.pipelines)
    assert len(script.runs) == 4
    for pipeline in script.pipelines.values():
        assert sorted(pipeline.bindings) == list(range(2))
        assert pipeline.push is not None
        assert pipeline.constants[0] > 1, "the width of a workgroup"
    first, second, *_ = script.pipelines.values()
    assert first.bindings[1] == second.bindings[0], "one buffer for the activation"
    words = script.buffers[first.bindings[0]][1]
    np.testing.assert_array_equal(np.array([int(w, 16) for w in words]), X.view(np.uint32).ravel())
    (y, how, expected, _, tolerance), half, zero = script.expects
    assert (how, script.buffers[y][0]) == ("RMSE_BUFFER", "float")
    assert 1e-6 < float(tolerance) < 1e-2
    values = np.array(script.buffers[expected][1], np.float32)
    np.testing.assert_array_equal(values, np.maximum(X, 0).ravel())
    assert script.buffers[half[0]][0] == "float16"
    assert (zero[1], script.buffers[zero[0]][0]) == ("EQ_BUFFER", "uint32")


def test_assembly_and_bytes(case: Path, tmp_path: Path) -> None:
    path = tmp_path / "case.amber"
    write_script(case, DeviceOptions(), path)
    script = read(path)
    assert {format for format, _, _ in script.shaders.values()} == {"SPIRV-ASM"}
    check_content(script, tmp_path)
    command = program_command("spirloom-run", [str(case), "--check", "--amber", str(path)])
    subprocess.run(command, check=True)
    script = read(path)
    assert {format for format, _, _ in script.shaders.values()} == {"SPIRV-HEX"}
    check_content(script, tmp_path)


def test_images_are_refused(case: Path, tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match=r"is stored in an image. Use --storage buffer\.$"):
        write_script(case, DeviceOptions(storage="texture3d"), tmp_path / "case.amber")
    assert not (tmp_path / "case.amber").exists()
