"""Methods of one file, and contexts of a model, that share weights."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import spirloom
from spirloom import graph_file, inspect
from spirloom.graph_reader import load_methods
from spirloom.ir import DType, Graph, Node, State, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.runtime import NotFound

LIBRARY = OpLibrary()


def method(name: str, alpha: float) -> Graph:
    """total += alpha * step; y = total."""
    step = constant("step", np.array([1, 10, 100], np.float32))
    x, total, y = (Tensor(name, DType.F32, (3,)) for name in ("x", "total", "y"))
    scaled = Tensor("scaled", DType.F32, (3,))
    by = LIBRARY.complete("aten.mul.Tensor", {"a": x, "b": step})
    add = LIBRARY.complete("aten.add.Tensor", {"a": total, "b": scaled, "alpha": alpha})
    nodes = [Node("aten.mul.Tensor", by, (scaled,)), Node("aten.add.Tensor", add, (y,))]
    graph = Graph([x], [y], nodes, name=name)
    graph.states = [State(total, y)]
    return graph


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.slg"
    graph_file.save([method("up", 1), method("down", -1)], path)
    return path


def test_methods_share_the_attachments(runtime: spirloom.Runtime, tmp_path: Path) -> None:
    graphs = [method("up", 1), method("down", -1)]
    graphs[0].attachments = {"tokenizer.json": b"{}", "empty": b""}
    for external in (False, True):
        graph_file.save(graphs, tmp_path / "net.slg", external)
        for name in ("up", "down"):
            model = runtime.load(tmp_path / "net.slg", method=name)
            assert model.attachments == graphs[0].attachments
        assert load_methods(tmp_path / "net.slg")[0].attachments == graphs[0].attachments
    assert runtime.load(graph_file.to_bytes(graphs[1])).attachments == {}


def test_methods_share_weights_and_states(runtime: spirloom.Runtime, file: Path) -> None:
    up = runtime.load(file)
    down = up.context("down", share_states=True)
    assert up.methods == down.methods == ("up", "down")
    assert (up.method, down.method) == ("up", "down")
    assert down.stats.constant_bytes == down.stats.state_bytes == 0
    ones = np.ones(3, np.float32)
    assert up(ones)[0].tolist() == [1, 10, 100]
    assert up(ones)[0].tolist() == [2, 20, 200]
    assert down(ones)[0].tolist() == [1, 10, 100]
    down.reset_states()
    assert up.states["total"].tolist() == [0, 0, 0]
    up.close()
    assert down(ones)[0].tolist() == [-1, -10, -100]


def test_a_context_has_separate_states(runtime: spirloom.Runtime, file: Path) -> None:
    one = runtime.load(file)
    two = one.context()
    ones = np.ones(3, np.float32)
    one(ones)
    assert two.states["total"].tolist() == [0, 0, 0]
    two.states["total"] = one.states["total"]  # continue from the same state
    assert two(ones)[0].tolist() == one(ones)[0].tolist() == [2, 20, 200]


def test_unknown_methods_are_listed(runtime: spirloom.Runtime, file: Path) -> None:
    with pytest.raises(NotFound, match="no method 'left'. Methods: 'up', 'down'"):
        runtime.load(file, method="left")
    with pytest.raises(NotFound, match="no method 'left'. Methods: 'up', 'down'"):
        runtime.load(file).context("left")


@pytest.mark.parametrize("in_memory", [False, True])
def test_contexts_run_on_several_threads(
    runtime: spirloom.Runtime, file: Path, in_memory: bool
) -> None:
    model = runtime.load(file.read_bytes() if in_memory else file)
    contexts = [model.context(name) for name in ("", "up", "down", "down")]
    model.close()
    ones = np.ones(3, np.float32)

    def last(context: spirloom.Model) -> list[float]:
        for _ in range(19):
            context(ones)
        values: list[float] = context(ones)[0].tolist()
        return values

    with ThreadPoolExecutor() as pool:
        up, also_up, down, also_down = pool.map(last, contexts)
    assert up == also_up == [20, 200, 2000]
    assert down == also_down == [-20, -200, -2000]


def test_inspect_shows_each(file: Path) -> None:
    texts = [inspect.to_text(graph, LIBRARY) for graph in load_methods(file)]
    assert [text.splitlines()[0] for text in texts] == ["method      up", "method      down"]
