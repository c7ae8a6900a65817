"""A cast and a storage conversion at a graph input or output are one dispatch."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from spirloom.builder import Builder
from spirloom.ir import DType, Graph, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes import finish

from tests.fusion.device import Device, distance


def network(library: OpLibrary) -> Graph:
    """y = tanh(x) + x in fp16 between fp32. Texels of 5 channels have padding."""
    graph = Graph([], [])
    build = Builder(library, graph)
    x = Tensor("x", DType.F32, (2, 5, 3, 7))
    graph.inputs = [x]
    y = build.add(build.emit("aten.tanh", x=x), x)
    y.name = "y"
    graph.outputs = [y]
    finish(graph, library, fp16=True)
    return graph


@pytest.mark.parametrize("storage", ["buffer", "texture3d", "texture2d"])
def test_one_dispatch_at_each_boundary(
    library: OpLibrary, spirloom_run: Path, tmp_path: Path, storage: str
) -> None:
    x = np.random.default_rng(5).normal(0, 2, (2, 5, 3, 7)).astype(np.float32)
    graph = network(library)
    (y,) = Device(spirloom_run, tmp_path).run(graph, {"x": x}, storage)
    half = x.astype(np.float16).astype(np.float32)
    expected = np.tanh(half).astype(np.float16).astype(np.float32) + half
    assert distance(y, expected) < 1e-3
    done = subprocess.run(
        [spirloom_run, tmp_path / "graph.slg", "--storage", storage, "--plan", "--random"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    variants = re.findall(r"\w+_f(?:16|32)_\w+", done.stdout)
    assert variants == [
        f"to_copy_f32_buffer_f16_{storage}", f"tanh_f16_{storage}", f"add_f16_{storage}",
        f"to_copy_f16_{storage}_f32_buffer",
    ]  # fmt: skip
