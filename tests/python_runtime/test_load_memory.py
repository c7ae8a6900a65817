"""Peak memory of loading: weights are stored once on the device and only partly in host memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from spirloom import graph_file
from spirloom.builder import Builder
from spirloom.ir import Array, DType, Graph, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.passes import finish
from spirloom.quantized_weights import QuantizedMatrix
from spirloom.sizes import Symbol
from spirloom.symbolic.open_graph import open_graph

FEATURES, GROUP, WORDS = 2048, 32, 8192
PERIOD = np.random.default_rng(0).integers(-8, 8, 65521, dtype=np.int8)
# Loads a small model first, which initializes libraries and driver, then the other. Prints the peak
# increase of process memory and of device memory, and the final increase of device memory.
MEASURED = """
import re, sys
from pathlib import Path
import spirloom

def status(key):
    return int(re.search(key + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

runtime = spirloom.Runtime(cache_dir="none")
small = runtime.load(sys.argv[1])
file = sys.argv[2] if len(sys.argv) == 3 else Path(sys.argv[2]).read_bytes()
before, device = status("VmRSS"), runtime.memory["in_use"]
large = runtime.load(file)
memory = runtime.memory
print(status("VmHWM") - before, memory["peak"] - device, memory["in_use"] - device)
"""


def network(path: Path, kind: str, layers: int) -> Path:
    """Square linear layers with int4 or float16 weights; "tied" ones between an embedding and an
    output projection that share one table."""
    if kind == "dynamic":
        graph_file.save(dynamic_network(layers), path)
        return path
    tied = kind == "tied"
    graph = Graph([Tensor("x", DType.I32, (1,)) if tied else Tensor("x", DType.F16, (1, FEATURES))])
    library = OpLibrary()
    build = Builder(library, graph)
    x = graph.inputs[0]
    table = constant("words", np.resize(PERIOD, (WORDS, FEATURES)).astype(np.float16))
    if tied:
        x = build.emit("aten.embedding", x=table, index=x)
    for i in range(layers):
        build.name = f"layer{i}"
        values = np.resize(np.roll(PERIOD, i), (FEATURES, FEATURES))
        op, args = _layer(i, values, kind)
        x = build.emit(op, x=x, **args)
    if tied:
        build.name = "scores"
        x = build.emit("aten.linear", x=x, weight=table)
    graph.outputs = [x]
    finish(graph, library)
    graph_file.save(graph, path)
    return path


def dynamic_network(layers: int) -> Graph:
    """Linear layers with float16 weights, for 1 to 4 rows."""
    library = OpLibrary()
    weights = [_layer(i, np.resize(np.roll(PERIOD, i), (FEATURES, FEATURES)), "f16")
               for i in range(layers)]  # fmt: skip

    def make(sizes: Mapping[str, int]) -> Graph:
        graph = Graph([Tensor("x", DType.F16, (sizes["rows"], FEATURES))])
        build = Builder(library, graph)
        x = graph.inputs[0]
        for i, (op, args) in enumerate(weights):
            build.name = f"layer{i}"
            x = build.emit(op, x=x, **args)
        graph.outputs = [x]
        return graph

    def finished(graph: Graph) -> Graph:
        finish(graph, library)
        return graph

    return open_graph(make, finished, [Symbol("rows", 1, 4)], library)


def _layer(i: int, values: Array, kind: str) -> tuple[str, dict[str, object]]:
    """The operator and its weight, which differs per layer: files deduplicate equal constants."""
    if kind != "int4":
        return "aten.linear", {"weight": constant(f"w{i}", values.astype(np.float16))}
    scales = np.full((FEATURES, FEATURES // GROUP), 1 + i / 1024, np.float32)
    return "spirloom.linear_w4", {**QuantizedMatrix.of(values, scales).arguments(f"w{i}")}


@pytest.mark.parametrize(("kind", "layers"), [("f16", 25), ("int4", 88), ("tied", 21)])
def test_weights_are_stored_once(kind: str, layers: int, tmp_path: Path) -> None:
    """The slack, 1/5 of 200 MB, exceeds the staging memory and is far below a second copy."""
    paths = [network(tmp_path / f"{n}.slg", kind, n) for n in (1, layers)]
    size = paths[1].stat().st_size
    assert size > 200e6
    line = [sys.executable, "-c", MEASURED, *map(str, paths)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    process, peak, kept = map(int, done.stdout.split())
    assert size < kept < 1.02 * size
    assert peak < 1.2 * size
    assert process < 1.2 * size


def test_a_file_in_memory_is_not_copied(tmp_path: Path) -> None:
    """A model with dynamic shapes keeps the caller's bytes for later resizes."""
    paths = [network(tmp_path / f"{n}.slg", "dynamic", n) for n in (1, 13)]
    size = paths[1].stat().st_size
    assert size > 100e6
    line = [sys.executable, "-c", MEASURED, *map(str, paths), "from memory"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    process, _, kept = map(int, done.stdout.split())
    assert size < kept < 1.1 * size
    assert process < 1.5 * size, "on the device only"
