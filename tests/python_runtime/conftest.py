"""Options and fixtures of the Python runtime tests: a runtime, small graphs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import spirloom
from spirloom import graph_file
from spirloom.ir import Array, DType, Graph, Node, Tensor, constant
from spirloom.runtime.native import LIBRARY_VARIABLE, SHADERS_VARIABLE
from spirloom.sizes import SizeExpr, Symbol, Varying


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--library", type=Path, help="libspirloom (default: found by the package)")
    group.addoption("--shaders", type=Path, help="its shaders (default: found by the package)")


def pytest_configure(config: pytest.Config) -> None:
    for variable, option in ((LIBRARY_VARIABLE, "--library"), (SHADERS_VARIABLE, "--shaders")):
        if path := config.getoption(option):
            os.environ[variable] = str(path)


@pytest.fixture(scope="session")
def runtime() -> Iterator[spirloom.Runtime]:
    if not spirloom.is_available():
        pytest.skip("No Vulkan device is available.")
    with spirloom.Runtime(cache_dir="none") as runtime:
        yield runtime


def spirloom_run(directory: Path, *words: str | Path, code: int = 0) -> str:
    """The output of `spirloom run` in its own process, which it may replace."""
    paths = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-m", "spirloom.cli", "run", *map(str, words)],
        cwd=directory, env={**os.environ, "PYTHONPATH": paths}, capture_output=True,
        encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def relu_graph(shape: tuple[int, ...] = (5,), dtype: DType = DType.F32) -> bytes:
    """y = relu(x)."""
    x, y = (Tensor(name, dtype, shape) for name in "xy")
    return graph_file.to_bytes(Graph([x], [y], [Node("aten.relu", (x,), (y,), "relu")]))


def maximum_graph() -> bytes:
    """y = maximum(a, b), float32[4]."""
    a, b, y = (Tensor(name, DType.F32, (4,)) for name in "aby")
    return graph_file.to_bytes(Graph([a, b], [y], [Node("aten.maximum", (a, b), (y,), "max")]))


def product_graph() -> bytes:
    """y = x @ x, float32[64, 64]."""
    x, y = (Tensor(name, DType.F32, (64, 64)) for name in "xy")
    return graph_file.to_bytes(Graph([x], [y], [Node("aten.mm", (x, x), (y,), "product")]))


def batch_graph() -> bytes:
    """y = relu(x), float32[batch, 3] with batch from 1 to 8."""
    rows = Varying(8, SizeExpr(((1, ("batch",)),)))
    x, y = (Tensor(name, DType.F32, (rows, 3)) for name in "xy")
    graph = Graph([x], [y], [Node("aten.relu", (x,), (y,), "relu")])
    graph.symbols = (Symbol("batch", 1, 8),)
    return graph_file.to_bytes(graph)


def dynamic_product_graph(matrix: Array) -> bytes:
    """y = x @ matrix, float32[batch, columns] with batch from 1 to 64."""
    rows = Varying(64, SizeExpr(((1, ("batch",)),)))
    x, y = (Tensor(name, DType.F32, (rows, n)) for name, n in zip("xy", matrix.shape, strict=True))
    node = Node("aten.mm", (x, constant("matrix", matrix)), (y,), "product")
    graph = Graph([x], [y], [node])
    graph.symbols = (Symbol("batch", 1, 64),)
    return graph_file.to_bytes(graph)


@pytest.fixture
def relu(runtime: spirloom.Runtime) -> spirloom.Model:
    return runtime.load(relu_graph())


@pytest.fixture
def batches(runtime: spirloom.Runtime) -> spirloom.Model:
    return runtime.load(batch_graph())
