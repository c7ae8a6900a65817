"""spirloom-run --check-races."""

from __future__ import annotations

from pathlib import Path

import pytest
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, State, Tensor

from tests.tools.programs import Program


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """total += abs(relu(x)); y = neg(total)."""
    x, positive, size, total, update, y = (
        Tensor(name, DType.F32, (2, 6)) for name in ("x", "positive", "size", "total", "new", "y")
    )
    nodes = [
        Node("aten.relu", (x,), (positive,), "positive"),
        Node("aten.abs", (positive,), (size,), "size"),
        Node("aten.add.Tensor", (total, size, 1.0, 0, 0.0, 0.0), (update,), "sum"),
        Node("aten.neg", (update,), (y,), "result"),
    ]
    graph = Graph([x], [y], nodes)
    graph.states = [State(total, update, None)]
    path = tmp_path / "net.slg"
    graph_file.save(graph, path)
    return path


@pytest.mark.parametrize("storage", ["buffer", "texture3d", "texture2d"])
def test_a_correct_model(spirloom_run: Program, model: Path, storage: str) -> None:
    done = spirloom_run(model, "--random", "--check-races=2", "--validation", "--storage", storage)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "no races, uninitialized reads or wrong aliases" in done.stdout
    assert "2 outputs and states have equal bits" in done.stdout
    assert "in 2 other orders" in done.stdout
    assert done.stderr == ""


def test_an_uninitialized_read_names_the_node(
    spirloom_run: Program, model: Path, partial_relu_pack: Path
) -> None:
    options = ("--random", "--override", partial_relu_pack)
    assert spirloom_run(model, *options).returncode == 0
    done = spirloom_run(model, *options, "--check-races")
    assert done.returncode == 1
    assert done.stdout.startswith("uninitialized read: ")
    assert "Different: 'y', 'total'\n" in done.stdout
    assert "First node with a different result: 'positive' (aten.relu, relu_" in done.stdout
    assert "depend on timing or on memory contents" in done.stderr
