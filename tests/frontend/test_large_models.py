"""Models with large weights: peak memory and progress output of their import."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from spirloom.errors import ImportFailure
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.terminal import Progress

from tests.frontend.models import compute, imported, model, node, random

PEAK = """
import re, sys
from pathlib import Path
from spirloom.cli import main
assert main(["import", sys.argv[1], "-o", *sys.argv[2:]]) == 0
# Of this program alone; getrusage counts what its parent had, too.
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024)
"""


def network(layers: int, size: int) -> ModelProto:
    """Products with constants, which become layer weights."""
    names = ["x", *(f"h{i}" for i in range(1, layers)), "y"]
    nodes = [node("MatMul", f"{names[i]} w{i}", names[i + 1]) for i in range(layers)]
    weights = {f"w{i}": random(size, size, seed=i) for i in range(layers)}
    return model(nodes, {"x": (2, size)}, weights)


def saved(made: ModelProto, path: Path, external: bool) -> Path:
    onnx.save(made, str(path), save_as_external_data=external, location=f"{path.name}.data")
    return path


def peak(path: Path, *options: str) -> int:
    """Peak bytes of an import."""
    command = [sys.executable, "-c", PEAK, str(path), str(path.with_suffix(".slg")), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1])


def test_memory_of_an_import(tmp_path: Path) -> None:
    base = peak(saved(network(24, 8), tmp_path / "small.onnx", False))
    size = 24 * 1024 * 1024 * 4
    fixed = 32 << 20  # libraries and buffers that a tiny model does not need
    for external in (False, True):
        path = saved(network(24, 1024), tmp_path / f"large{external:d}.onnx", external)
        for options in ("--fp16",), ():
            assert peak(path, *options) - base < 1.5 * size + fixed
    inside, outside = (tmp_path / f"large{i}.slg" for i in (0, 1))
    assert inside.read_bytes() == outside.read_bytes()


def test_large_weights_of_a_file(library: OpLibrary, tmp_path: Path) -> None:
    """At a size from which weights stay in the file."""
    made = network(2, 160)
    made.graph.initializer.extend([onnx.numpy_helper.from_array(random(160), "b")])
    made.graph.node.extend([node("Add", "y b", "z")])
    made.graph.output[0].name = "z"
    graph = imported(made, library, tmp_path)
    x = random(2, 160, seed=9)
    w0, w1, b = (onnx.numpy_helper.to_array(t) for t in made.graph.initializer)
    np.testing.assert_allclose(compute(graph, x), x @ w0 @ w1 + b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("cut", [1, 100, 100_000, 150_000])
def test_truncated_large_files(library: OpLibrary, tmp_path: Path, cut: int) -> None:
    content = network(2, 160).SerializeToString()
    path = tmp_path / "cut.onnx"
    path.write_bytes(content[:-cut])
    with pytest.raises(ImportFailure, match="is not a"):
        import_model(path, library, Shapes())


def test_wrong_sizes_of_large_weights(library: OpLibrary, tmp_path: Path) -> None:
    made = network(1, 160)
    made.graph.initializer[0].dims[0] = 161
    with pytest.raises(ImportFailure, match="'w0' is damaged: it has 102400 bytes"):
        imported(made, library, tmp_path)


class Terminal(io.StringIO):
    """Text output that is recorded."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "seen"), [(Terminal(), True), (io.StringIO(), False)])
def test_progress(stream: io.StringIO, seen: bool) -> None:
    now = 0.0
    with Progress("m.onnx", stream, lambda: now) as progress:
        progress("early")
        now = 1.5
        progress("node 3 of 9")
        progress("node 4 of 9")
        now = 1.7
        progress("writing")
    line = "\r\x1b[K"
    shown = f"{line}m.onnx: node 3 of 9{line}m.onnx: writing{line}"
    assert stream.getvalue() == (shown if seen else "")
