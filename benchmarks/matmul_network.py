"""Square matmuls as one-node networks, in the file formats of the compared programs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
from spirloom import graph_file
from spirloom.builder import Builder
from spirloom.ir import DType, Graph, Tensor
from spirloom.op_library import OpLibrary

INPUTS = ("a", "b")


def size_of(name: str) -> int | None:
    """512 for `matmul_512`; None for other network names."""
    match = re.fullmatch(r"matmul_(\d+)", name)
    return int(match[1]) if match else None


def matrices(size: int) -> dict[str, npt.NDArray[np.float32]]:
    """The operands; deterministic for a size."""
    random = np.random.default_rng(size)
    return {name: random.standard_normal((size, size), np.float32) for name in INPUTS}


def write_slg(size: int, path: Path) -> None:
    """Writes the matmul as a graph file."""
    graph = Graph(producer="benchmarks")
    graph.inputs += [Tensor(name, DType.F32, (size, size)) for name in INPUTS]
    a, b = graph.inputs
    y = Builder(OpLibrary(), graph).emit("aten.mm", a=a, b=b)
    y.name = "y"
    graph.outputs.append(y)
    graph_file.save(graph, path)


def write_ncnn(param: Path) -> None:
    """Writes the matmul as an ncnn model; its weights file (.bin) is empty."""
    lines = ("7767517", "3 3", *(f"Input {name} 0 1 {name}" for name in INPUTS),
             "Gemm product 2 1 a b y")  # fmt: skip
    param.write_text("\n".join(lines) + "\n", encoding="utf-8")
    param.with_suffix(".bin").write_bytes(b"")
