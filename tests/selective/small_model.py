"""Graphs with one operator."""

from __future__ import annotations

from pathlib import Path

from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Tensor


def save_unary(op: str, path: Path) -> None:
    """Writes the graph y = op(x), float32[2, 3]."""
    x, y = (Tensor(name, DType.F32, (2, 3)) for name in "xy")
    path.parent.mkdir(parents=True, exist_ok=True)
    graph_file.save(Graph([x], [y], [Node(op, (x,), (y,), "only")]), path)
