"""CPU time of Resize() to shapes that are not cached, for a graph of many nodes.

.venv/bin/python -m benchmarks.resize [--nodes 600]
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper, save
from spirloom import Model, Runtime
from spirloom.cli import main as spirloom

WIDTH, MAX_ROWS = 64, 256
NODES_PER_LAYER = 6


def write_model(path: Path, layers: int) -> None:
    """Layers of attention with one weight each, of a dynamic number of rows."""
    values = np.random.default_rng(0)
    nodes: list[NodeProto] = []
    weights = []
    x = "x"
    for i in range(layers):
        weight = values.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 16
        weights.append(numpy_helper.from_array(weight, f"w{i}"))
        calls: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
            ("MatMul", f"{x} w{i}", "m", {}),
            ("Softmax", f"m{i}", "s", {"axis": -1}),
            ("Transpose", f"s{i}", "t", {"perm": [1, 0]}),
            ("MatMul", f"s{i} t{i}", "q", {}),
            ("MatMul", f"q{i} m{i}", "r", {}),
            ("Add", f"r{i} {x}", "x", {}),
        )
        for op, inputs, output, attributes in calls:
            nodes.append(helper.make_node(op, inputs.split(), [f"{output}{i}"], **attributes))
        x = f"x{i}"
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", WIDTH]) for name in ("x", x)
    ]
    graph = helper.make_graph(nodes, "layers", ends[:1], ends[1:], weights)
    opset = helper.make_opsetid("", 17)
    save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)


def resize_times(model: Model) -> list[float]:
    """Milliseconds of each resize, after a round that compiles the kernels of all sizes."""
    sizes = random.Random(1).sample(range(1, MAX_ROWS + 1), MAX_ROWS)
    found = []
    for measures in (False, True):
        for rows in sizes:
            start = time.process_time_ns()
            model.resize([(rows, WIDTH)])
            if measures:
                found.append((time.process_time_ns() - start) / 1e6)
    return sorted(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=600)
    nodes = parser.parse_args().nodes
    with tempfile.TemporaryDirectory(prefix="spirloom-resize-") as folder:
        model, graph = Path(folder) / "layers.onnx", Path(folder) / "layers.slg"
        write_model(model, max(1, nodes // NODES_PER_LAYER))
        command = ["import", str(model), "-o", str(graph), "--dim", f"rows=1..{MAX_ROWS}"]
        if spirloom(command) != 0:
            raise SystemExit("resize: the import fails.")
        loaded = Runtime().load(graph)
        times = resize_times(loaded)
    print(
        f"{loaded.stats.dispatches} dispatches; resize takes {times[0]:.1f} ms at best, "
        f"{times[len(times) // 2]:.1f} ms in the median, of CPU time"
    )


if __name__ == "__main__":
    main()
