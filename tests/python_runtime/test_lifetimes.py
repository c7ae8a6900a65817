"""Object lifetimes, threads, futures, forks and signals."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import spirloom
from numpy.typing import NDArray
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.runtime import Busy, InvalidArgument, Unsupported
from spirloom.runtime.interruptible import interruptible

from tests.python_runtime.conftest import relu_graph

X = np.arange(-2, 3, dtype=np.float32)
Y = [0, 0, 0, 1, 2]


def slow_graph() -> bytes:
    """Matrix multiplications that take tens of milliseconds on a software device."""
    x = Tensor("x", DType.F32, (512, 512))
    nodes, last = [], x
    for i in range(8):
        y = Tensor(f"y{i}", DType.F32, (512, 512))
        nodes.append(Node("aten.mm", (last, x), (y,), f"product{i}"))
        last = y
    return graph_file.to_bytes(Graph([x], [last], nodes))


SLOW = np.zeros((512, 512), np.float32)


def test_a_model_outlives_its_runtime() -> None:
    runtime = spirloom.Runtime(cache_dir="none")
    model = runtime.load(relu_graph())
    runtime.close()
    assert model(X)[0].tolist() == Y
    with pytest.raises(InvalidArgument, match="The runtime is closed"):
        runtime.load(relu_graph())


def test_a_closed_model(runtime: spirloom.Runtime) -> None:
    with runtime.load(relu_graph()) as model:
        pending = model.submit(X)
    with pytest.raises(ValueError, match="The model is closed"):
        model(X)
    assert pending.result()[0].tolist() == Y


def test_a_future(relu: spirloom.Model) -> None:
    pending = relu.submit(x=X)
    assert pending.result(timeout=60)[0].tolist() == Y
    assert pending.done()
    assert pending.result()[0] is pending.result()[0]


def test_one_run_at_a_time(runtime: spirloom.Runtime) -> None:
    model = runtime.load(slow_graph())
    pending = model.submit(SLOW)
    with pytest.raises(Busy, match="Run 1 of the model is in flight"):
        model(SLOW)
    with pytest.raises(TimeoutError):
        pending.result(timeout=0)
    pending.result()
    model(SLOW)


def test_the_inputs_are_copied_at_once(relu: spirloom.Model) -> None:
    x = X.copy()
    pending = relu.submit(x)
    x[:] = 9
    assert pending.result()[0].tolist() == Y


def test_a_run_without_wait(relu: spirloom.Model) -> None:
    relu.submit(X)
    assert relu(X)[0].tolist() == Y


def test_a_run_that_is_dropped_during_a_call(relu: spirloom.Model) -> None:
    """As by garbage collection: freed by the next call, not during the current one."""
    pending = relu.submit(X)
    pending.result()
    with relu._owner.lock:
        del pending
        assert len(relu._owner._dropped) == 1
    assert relu(X)[0].tolist() == Y
    assert relu._owner._dropped == []


def test_asyncio(runtime: spirloom.Runtime) -> None:
    models = [runtime.load(slow_graph()) for _ in range(2)]

    async def both() -> list[float]:
        results = await asyncio.gather(*(_result(model) for model in models))
        return [float(y.sum()) for (y,) in results]

    async def _result(model: spirloom.Model) -> tuple[NDArray[np.float32], ...]:
        return await model.submit(SLOW)

    assert asyncio.run(both()) == [0, 0]


def test_threads_with_separate_models(runtime: spirloom.Runtime) -> None:
    wrong: list[object] = []

    def work(offset: int) -> None:
        model = runtime.load(relu_graph())
        for _ in range(50):
            if model(X + offset)[0].tolist() != np.maximum(X + offset, 0).tolist():
                wrong.append(offset)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_model_used_by_two_threads(runtime: spirloom.Runtime) -> None:
    """A run releases the GIL; a concurrent run of the model is rejected."""
    model = runtime.load(slow_graph())
    model(SLOW)
    started = threading.Event()

    def run() -> None:
        started.set()
        model(SLOW)

    rejected = 0
    for _ in range(20):
        started.clear()
        thread = threading.Thread(target=run)
        thread.start()
        started.wait()
        time.sleep(0.002)
        try:
            model(SLOW)
        except Busy as error:
            assert "Another thread is using the model" in str(error)
            rejected += 1
        thread.join()
    assert rejected > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork() is not available.")
def test_a_forked_process(runtime: spirloom.Runtime) -> None:
    model = runtime.load(relu_graph())
    pending = model.submit(X)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        rejected = []
        calls: list[Callable[[], object]] = [lambda: model(X), pending.result]
        calls += [lambda: runtime.load(b""), spirloom.devices]
        for call in calls:
            try:
                call()
            except Unsupported as error:
                rejected.append("This process was forked" in str(error))
        del model, pending
        os.write(write, repr((rejected, spirloom.is_available())).encode())
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert os.read(read, 1000).decode() == repr(([True] * 4, False))
    assert pending.result()[0].tolist() == Y


INTERRUPTED = """
import os, signal, threading, time
from spirloom.runtime.interruptible import interruptible

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for background jobs
ended = threading.Event()

def work():
    time.sleep(1.5)
    ended.set()

threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    interruptible(work)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begin < 1.2, ended.is_set())
ended.wait()
"""


def test_ctrl_c_during_a_load() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, timeout=60
    )
    assert (done.stdout, done.returncode) == ("interrupted True False\n", 0), done.stderr


def test_errors_of_a_load_reach_the_caller() -> None:
    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        interruptible(fail)
    assert interruptible(lambda: 7) == 7


IMPORTED = """
import sys
import spirloom
print([name for name in ("numpy", "onnx", "yaml", "jinja2", "torch") if name in sys.modules])
spirloom.load
print([name for name in ("onnx", "yaml", "jinja2", "torch", "flatbuffers") if name in sys.modules])
print("Model" in dir(spirloom), hasattr(spirloom, "modle"))
print(*(getattr(spirloom, name).__name__ for name in ("onnx", "torch", "executorch")))
print([name for name in ("onnx", "torch", "executorch") if name in sys.modules])
"""


def test_the_import_is_light() -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], capture_output=True, text=True, env=env, timeout=60
    )
    modules = "spirloom.onnx spirloom.torch spirloom.executorch"
    assert done.stdout == f"[]\n[]\nTrue False\n{modules}\n[]\n", done.stderr


def test_no_library(tmp_path: Path) -> None:
    """A missing library, and another library."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = "import spirloom; print(spirloom.is_available()); spirloom.devices()"
    for library in (tmp_path / "libspirloom.so.1", Path("libc.so.6")):
        env["SPIRLOOM_LIBRARY"] = str(library)
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=env, timeout=60
        )
        assert done.stdout == "False\n"
        assert f"Unavailable: Cannot use {library}: " in done.stderr
