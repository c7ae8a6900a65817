"""Memory of networks: planned activation memory relative to the lower bound of any plan, and the
memory of the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from spirloom import graph_file
from spirloom.builder import Builder
from spirloom.graph_reader import load
from spirloom.ir import DType, Graph, Tensor
from spirloom.op_library import OpLibrary

from benchmarks.context import Context
from benchmarks.networks import Files, run_spirloom

_PLAN = ("live_bytes", "planned_bytes", "naive_bytes", "constant_bytes", "memory_bytes",
         "peak_memory_bytes")  # fmt: skip


def measure(context: Context) -> dict[str, Any]:
    """The results as JSON values; sizes in bytes."""
    empty = run_spirloom(context, _smallest(context))
    return {
        "process_bytes": empty["memory_bytes"],
        "networks": [_network(context, name) for name in context.networks],
    }


def _network(context: Context, name: str) -> dict[str, Any]:
    files = Files.make(name, context)
    stats = run_spirloom(context, files)
    parameters = {id(t.data): t.size for t in load(files.slg).tensors() if t.data is not None}
    found = {key: stats[key] for key in _PLAN}
    return {"name": name, "parameter_bytes": sum(parameters.values()), **found}


def _smallest(context: Context) -> Files:
    """A graph of one node: its process memory is that of runtime and driver."""
    graph = Graph(producer="benchmarks")
    x = Tensor("x", DType.F32, (4,))
    graph.inputs.append(x)
    y = Builder(OpLibrary(), graph).emit("aten.relu", x=x)
    y.name = "y"
    graph.outputs.append(y)
    slg = context.scratch / "smallest.slg"
    graph_file.save(graph, slg)
    values = context.scratch / "x.npy"
    np.save(values, np.zeros(4, np.float32))
    return Files("smallest", slg, (f"x={values}",), Path(), Path(), 0, None)
