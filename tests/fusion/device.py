"""Runs graphs on the device and measures the distance of results."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from spirloom import graph_file
from spirloom.ir import Array, Graph


@dataclass(frozen=True, slots=True)
class Device:
    """spirloom-run, and a directory for its files."""

    program: Path
    folder: Path

    def run(self, graph: Graph, inputs: Mapping[str, Array], storage: str) -> list[Array]:
        """The outputs, in order. A validation message fails the run."""
        path = self.folder / "graph.slg"
        graph_file.save(graph, path)
        command: list[str | Path] = [self.program, path, "--storage", storage, "--validation"]
        for name, values in inputs.items():
            np.save(self.folder / f"{name}.npy", values)
            command += ["--input", f"{name}={self.folder / name}.npy"]
        done = subprocess.run(
            [*command, "--output-dir", self.folder], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return [np.load(self.folder / f"{tensor.name}.npy") for tensor in graph.outputs]


def distance(a: Array, b: Array) -> float:
    """‖a − b‖ / ‖b‖. Infinite where an element is not finite or the shapes differ."""
    if a.shape != b.shape or not np.isfinite(a).all():
        return float("inf")
    wide = b.astype(np.float64)
    return float(np.linalg.norm(a - wide) / np.linalg.norm(wide))
