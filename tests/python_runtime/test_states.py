"""States in Python: persistent tensors by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import spirloom
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, State, Tensor
from spirloom.op_library import OpLibrary
from spirloom.runtime import Busy, InvalidArgument, WrongType

START = np.array([1, 2, 3], np.float32)


def totals() -> bytes:
    """total += x, initially START; y = total. `kept` is not updated."""
    x, total, y = (Tensor(name, DType.F32, (3,)) for name in ("x", "total", "y"))
    kept = Tensor("kept", DType.I32, (2, 2))
    args = OpLibrary().complete("aten.add.Tensor", {"a": total, "b": x})
    graph = Graph([x], [y], [Node("aten.add.Tensor", args, (y,), "sum")])
    graph.states = [State(total, y, START), State(kept, kept)]
    return graph_file.to_bytes(graph)


@pytest.fixture
def model(runtime: spirloom.Runtime) -> spirloom.Model:
    return runtime.load(totals())


def test_runs_continue_from_the_previous_state(model: spirloom.Model) -> None:
    assert list(model.states) == ["total", "kept"]
    assert [str(info) for info in model.states.infos] == ["total: float32[3]", "kept: int32[2, 2]"]
    assert model.stats.state_bytes >= 28
    x = np.array([1, 0, -1], np.float32)
    for run in (1, 2, 3):
        (y,) = model(x)
        assert y.tolist() == (START + run * x).tolist()
        assert model.states["total"].tolist() == y.tolist()
    model.reset_states()
    assert model.states["total"].tolist() == START.tolist()
    assert model(x)[0].tolist() == (START + x).tolist()


def test_states_are_saved_and_loaded(
    runtime: spirloom.Runtime, model: spirloom.Model, tmp_path: Path
) -> None:
    model(np.ones(3, np.float32))
    model.states["kept"] = [[1, 2], [3, 4]]
    np.savez(tmp_path / "states.npz", **model.states)  # type: ignore[arg-type]
    other = runtime.load(totals())
    for name, values in np.load(tmp_path / "states.npz").items():
        other.states[name] = values
    assert other.states["kept"].tolist() == [[1, 2], [3, 4]]
    assert other(np.zeros(3, np.float32))[0].tolist() == (START + 1).tolist()


def test_invalid_states_are_rejected(model: spirloom.Model) -> None:
    with pytest.raises(KeyError):
        model.states["other"]
    with pytest.raises(InvalidArgument, match="no state 'other'; it has: total, kept"):
        model.states["other"] = START
    with pytest.raises(InvalidArgument, match=r"state 'total' has shape \[2\]; expected \[3\]"):
        model.states["total"] = START[:2]
    with pytest.raises(WrongType):
        model.states["kept"] = np.ones((2, 2), np.float32)


def test_rows_of_a_state(model: spirloom.Model) -> None:
    model.states["kept"] = [[1, 2], [3, 4]]
    assert model.states.rows("kept", 1, 2).tolist() == [[3, 4]]
    assert model.states.rows("kept", 2, 2).shape == (0, 2)
    assert model.states.rows("total", 1, 3).tolist() == [2, 3]
    for begin, end in ((0, 3), (-1, 1), (2, 1)):
        with pytest.raises(InvalidArgument, match=rf"Rows {begin} to {end} are not within the 2 "):
            model.states.rows("kept", begin, end)
    with pytest.raises(KeyError):
        model.states.rows("other", 0, 1)


def test_states_are_busy_during_a_run(model: spirloom.Model) -> None:
    run = model.submit(np.ones(3, np.float32))
    with pytest.raises(Busy):
        model.reset_states()
    with pytest.raises(Busy):
        model.states["total"]
    with pytest.raises(Busy):
        model.states.rows("total", 0, 1)
    run.result()
    assert model.states["total"].tolist() == (START + 1).tolist()


def test_most_models_have_none(relu: spirloom.Model) -> None:
    assert len(relu.states) == 0
    assert relu.stats.state_bytes == 0
