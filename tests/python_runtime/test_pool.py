"""Replicas of a model on two logical devices, and on one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import spirloom
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, State, Tensor
from spirloom.runtime import DeviceLost, InvalidArgument

from tests.python_runtime.conftest import batch_graph, relu_graph


@pytest.fixture
def pool(runtime: spirloom.Runtime) -> Iterator[spirloom.Pool]:
    """Two replicas on each of two logical devices."""
    with (
        spirloom.Runtime(cache_dir="none") as second,
        spirloom.Pool(relu_graph(), [runtime, second]) as pool,
    ):
        yield pool


def test_calls_of_many_threads_use_all_replicas(
    pool: spirloom.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    replicas = len(pool)
    assert replicas == 4
    meeting = threading.Barrier(replicas)
    used = set()
    run = spirloom.Model.__call__

    def meet(model: spirloom.Model, *inputs: object) -> tuple[Any, ...]:
        used.add(id(model))
        meeting.wait(timeout=60)  # returns once all replicas are in a call
        return run(model, *inputs)

    monkeypatch.setattr(spirloom.Model, "__call__", meet)
    inputs = [np.arange(5, dtype=np.float32) - i for i in range(8)]
    with ThreadPoolExecutor(replicas) as threads:
        outputs = list(threads.map(pool, inputs))
    assert len(used) == replicas
    for x, (y,) in zip(inputs, outputs, strict=True):
        assert y.tolist() == np.maximum(x, 0).tolist()


def test_map_keeps_the_order_and_reads_a_few_ahead(pool: spirloom.Pool) -> None:
    taken = 0

    def inputs() -> Iterator[Any]:
        nonlocal taken
        for i in range(40):
            taken += 1
            x = np.full(5, i, np.float32)
            yield x if i % 2 else (x,)

    for i, (y,) in enumerate(pool.map(inputs())):
        assert y.tolist() == [i] * 5
        assert taken <= i + 2 * len(pool)
    assert taken == 40


def test_submit_returns_a_future(pool: spirloom.Pool) -> None:
    futures = [pool.submit(x=np.full(5, i, np.float32)) for i in range(9)]
    assert [future.result()[0][0] for future in futures] == list(range(9))
    assert isinstance(pool.submit(np.zeros(4, np.float32)).exception(), InvalidArgument)
    assert len(pool) == 4, "An error of a call removes no replica."


def test_shapes_may_differ_between_calls(runtime: spirloom.Runtime) -> None:
    with spirloom.Pool(batch_graph(), [runtime], replicas=3) as pool:
        inputs = [np.full((1 + i % 8, 3), i, np.float32) for i in range(24)]
        for x, (y,) in zip(inputs, pool.map(inputs), strict=True):
            np.testing.assert_array_equal(x, y)


def test_a_lost_device_is_removed(
    pool: spirloom.Pool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lost = {id(model) for model in list(pool._idle)[::2]}  # those of the first device
    run = spirloom.Model.__call__

    def fail(model: spirloom.Model, *inputs: object) -> tuple[Any, ...]:
        if id(model) in lost:
            raise DeviceLost("The device is lost.")
        return run(model, *inputs)

    monkeypatch.setattr(spirloom.Model, "__call__", fail)
    x = np.ones(5, np.float32)
    assert [y.tolist() for (y,) in pool.map([x] * 8)] == [[1] * 5] * 8
    assert len(pool) == 2
    assert caplog.text.count("A replica is removed from the pool: The device is lost.") == 2
    lost.update(id(model) for model in pool._idle)
    with pytest.raises(DeviceLost, match="All devices of the pool are lost"):
        pool(x)
    assert len(pool) == 0


def test_a_closed_pool_refuses_calls(runtime: spirloom.Runtime) -> None:
    pool = spirloom.Pool(relu_graph(), [runtime])
    future = pool.submit(np.ones(5, np.float32))
    pool.close()
    assert future.result()[0].tolist() == [1] * 5
    pool.close()
    with pytest.raises(InvalidArgument, match="The pool is closed"):
        pool(np.ones(5, np.float32))
    with pytest.raises(InvalidArgument, match="The pool is closed"):
        pool.submit(np.ones(5, np.float32))


def test_arguments_are_checked(runtime: spirloom.Runtime) -> None:
    with pytest.raises(InvalidArgument, match=r"replicas \(0\) must be at least 1"):
        spirloom.Pool(relu_graph(), [runtime], replicas=0)
    with pytest.raises(InvalidArgument, match="at least one device"):
        spirloom.Pool(relu_graph(), [])
    with pytest.raises(InvalidArgument, match=r"states \('total'\), which replicas would not"):
        spirloom.Pool(_stateful_graph(), [runtime])


def _stateful_graph() -> bytes:
    """total = max(total, x)."""
    x, total, y = (Tensor(name, DType.F32, (3,)) for name in ("x", "total", "y"))
    graph = Graph([x], [y], [Node("aten.maximum", (total, x), (y,), "max")])
    graph.states = [State(total, y)]
    return graph_file.to_bytes(graph)
