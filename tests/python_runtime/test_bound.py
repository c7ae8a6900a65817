"""Arrays bound to inputs and outputs without copies."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
import spirloom
from spirloom.runtime import Busy, InvalidArgument, Unsupported, WrongType, page_aligned

from tests.python_runtime.conftest import batch_graph, maximum_graph, relu_graph

X = np.arange(-2, 3, dtype=np.float32)
Y = [0, 0, 0, 1, 2]


@pytest.fixture(scope="module")
def importing() -> Iterator[spirloom.Runtime]:
    with spirloom.Runtime(cache_dir="none", import_host_memory=True) as made:
        try:
            made.load(relu_graph()).bind_input("x", page_aligned(5))
        except Unsupported as error:
            pytest.skip(str(error))
        yield made


def test_a_run_reads_and_writes_them(importing: spirloom.Runtime) -> None:
    model = importing.load(relu_graph())
    x, y = page_aligned(5), page_aligned(5)
    model.bind_input("x", x)
    model.bind_output(0, y)
    for factor in (1, -1, 2):
        x[:] = factor * X
        (given,) = model()
        assert given is y
        assert y.tolist() == np.maximum(factor * X, 0).tolist()
    x[:] = X
    assert model.run()[0] is y
    assert model.run(copy=False)[0] is y
    assert y.tolist() == Y
    x[:] = 7
    assert model.submit().result()[0] is y
    assert y.tolist() == [7] * 5


def test_calls_pass_the_unbound_inputs(importing: spirloom.Runtime) -> None:
    model = importing.load(maximum_graph())
    b = page_aligned(4)
    b[:] = 2
    model.bind_input("b", b)
    a = np.array([1, 2, 3, 4], np.float32)
    assert model(a)[0].tolist() == [2, 2, 3, 4]
    assert model(a=a)[0].tolist() == [2, 2, 3, 4]
    assert model.run({"a": a}, copy=False)[0].tolist() == [2, 2, 3, 4]
    with pytest.raises(InvalidArgument, match="The call passes 2 inputs; the model has 1"):
        model(a, a)
    model.bind_input("b", None)
    assert model(a, -a)[0].tolist() == [1, 2, 3, 4]
    y = page_aligned(4)
    model.bind_output("y", y)
    assert model.run([a, -a], out=[])[0] is y
    assert y.tolist() == [1, 2, 3, 4]


def test_arrays_that_cannot_be_bound(importing: spirloom.Runtime) -> None:
    model = importing.load(relu_graph())
    with pytest.raises(
        InvalidArgument, match=r"The array for input 'x' has shape \[4\]; expected \[5\]"
    ):
        model.bind_input("x", page_aligned(4))
    with pytest.raises(WrongType, match="output 'y' has type float64; expected float32"):
        model.bind_output("y", page_aligned(5, np.float64))
    with pytest.raises(InvalidArgument, match="not a multiple of the page size .*page_aligned"):
        model.bind_input("x", page_aligned(6)[1:])
    with pytest.raises(InvalidArgument, match="'x' must be C-contiguous"):
        model.bind_input("x", page_aligned((5, 2))[:, 0])
    fixed = page_aligned(5)
    fixed.flags.writeable = False
    with pytest.raises(InvalidArgument, match="'y' must be C-contiguous and writeable"):
        model.bind_output("y", fixed)
    with pytest.raises(InvalidArgument, match="The model has no input 'z'; it has: x"):
        model.bind_input("z", page_aligned(5))
    empty = importing.load(relu_graph((0, 3)))
    with pytest.raises(InvalidArgument, match="'x' has no elements"):
        empty.bind_input("x", page_aligned((0, 3)))
    assert model(X)[0].tolist() == Y


def test_bound_arrays_fix_the_shapes(importing: spirloom.Runtime) -> None:
    model = importing.load(batch_graph())
    model.resize([(2, 3)])
    x = page_aligned((2, 3))
    x[:] = 3
    model.bind_input("x", x)
    with pytest.raises(Busy, match="Arrays are bound"):
        model.resize([(4, 3)])
    assert model()[0].tolist() == [[3] * 3] * 2
    model.bind_input("x", None)
    assert model(np.ones((4, 3), np.float32))[0].shape == (4, 3)


def test_arrays_outlive_pending_runs(importing: spirloom.Runtime) -> None:
    model = importing.load(relu_graph())
    x = page_aligned(5)
    x[:] = X
    seen = weakref.ref(x)
    model.bind_input("x", x)
    del x
    pending = model.submit()
    model.close()
    assert pending.result()[0].tolist() == Y
    assert seen() is not None
    del pending, model
    gc.collect()
    assert seen() is None


def test_binding_requires_import_host_memory(runtime: spirloom.Runtime) -> None:
    with pytest.raises(Unsupported, match="VK_EXT_external_memory_host is"):
        runtime.load(relu_graph()).bind_input("x", page_aligned(5))
