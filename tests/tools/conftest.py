"""Options and fixtures of the command-line tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Tensor

from spec_model.interval import Interval
from tests.tools.programs import AddModel, Packs, Program, ReluModel

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--bin-dir", type=Path, default=ROOT / "build/release/bin")
    group.addoption("--pack-dir", type=Path, default=ROOT / "build/release/tests/tools")


@pytest.fixture(scope="session")
def spirloom_run(request: pytest.FixtureRequest) -> Program:
    return Program(request.config.getoption("--bin-dir") / "spirloom-run")


@pytest.fixture(scope="session")
def spirloom_ops(request: pytest.FixtureRequest) -> Program:
    return Program(request.config.getoption("--bin-dir") / "spirloom-ops")


@pytest.fixture(scope="session")
def packs(request: pytest.FixtureRequest) -> Packs:
    directory: Path = request.config.getoption("--pack-dir")
    kinds = ("overriding", "clashing", "compressed")
    paths = [directory / f"test_relu_{kind}/shaders.slpack" for kind in kinds]
    return Packs(*paths)


@pytest.fixture(scope="session")
def division_pack(request: pytest.FixtureRequest) -> Path:
    """A library with test.quotient: element-wise divide() of lib/prelude."""
    directory: Path = request.config.getoption("--pack-dir")
    return directory / "test_division/shaders.slpack"


@pytest.fixture(scope="session")
def partial_relu_pack(request: pytest.FixtureRequest) -> Path:
    """A library with an aten.relu that does not write element 0."""
    directory: Path = request.config.getoption("--pack-dir")
    return directory / "test_partial_relu/shaders.slpack"


@pytest.fixture
def relu_model(tmp_path: Path) -> ReluModel:
    """y = relu(x), f32[5], with x = -2 .. 2."""
    x, y = (Tensor(name, DType.F32, (5,)) for name in "xy")
    model = ReluModel(tmp_path / "relu.slg", tmp_path / "x.npy")
    graph_file.save(Graph([x], [y], [Node("aten.relu", (x,), (y,), "relu")]), model.path)
    np.save(model.x, np.arange(-2, 3, dtype=np.float32))
    return model


@pytest.fixture
def add_model(tmp_path: Path) -> AddModel:
    """y = a + b, f32[2, 3]; the name of y is `sum/y`."""
    a, b = (Tensor(name, DType.F32, (2, 3)) for name in ("a", "b"))
    y = Tensor("sum/y", DType.F32, (2, 3))
    node = Node("aten.add.Tensor", (a, b, 1.0, 0, 0.0, 0.0), (y,), "sum")
    graph_file.save(Graph([a, b], [y], [node]), tmp_path / "add.slg")
    for i, name in enumerate(("a", "b")):
        np.save(tmp_path / f"{name}.npy", np.arange(6, dtype=np.float32).reshape(2, 3) * (i + 1))
    return AddModel(tmp_path, tmp_path / "add.slg")


@pytest.fixture
def index_model(tmp_path: Path) -> Path:
    """y = 2 x, i32[3], with bounds 0..9 of x."""
    x = Tensor("x", DType.I32, (3,), bounds=Interval(0, 9))
    y = Tensor("y", DType.I32, (3,))
    node = Node("aten.add.Tensor", (x, x, 1.0, 0, 0.0, 0.0), (y,), "twice")
    graph_file.save(Graph([x], [y], [node]), tmp_path / "index.slg")
    return tmp_path / "index.slg"
