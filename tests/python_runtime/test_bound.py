"""Arrays that the device reads and writes where they lie."""

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


def test_the_rest_is_given_as_ever(importing: spirloom.Runtime) -> None:
    model = importing.load(maximum_graph())
    b = page_aligned(4)
    b[:] = 2
    model.bind_input("b", b)
    a = np.array([1, 2, 3, 4], np.float32)
    assert model(a)[0].tolist() == [2, 2, 3, 4]
    assert model(a=a)[0].tolist() == [2, 2, 3, 4]
    assert model.run({"a": a}, copy=False)[0].tolist() == [2, 2, 3, 4]
    with pytest.raises(InvalidArgument, match="2 inputs are given; the model takes 1"):
        model(a, a)
    model.bind_input("b", None)
    assert model(a, -a)[0].tolist() == [1, 2, 3, 4]
    y = page_aligned(4)
    model.bind_output("y", y)
    assert model.run([a, -a], out=[])[0] is y
    assert y.tolist() == [1, 2, 3, 4]


def test_arrays_that_cannot_be_bound(importing: spirloom.Runtime) -> None:
    model = importing.load(relu_graph())
    with pytest.raises(InvalidArgument, match=r"Input 'x' has shape \[5\], not \[4\]"):
        model.bind_input("x", page_aligned(4))
    with pytest.raises(WrongType, match="Output 'y' is an array of float32, not of float64"):
        model.bind_output("y", page_aligned(5, np.float64))
    with pytest.raises(InvalidArgument, match="which is not a multiple of a page .*page_aligned"):
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


def test_bound_arrays_keep_the_shapes(importing: spirloom.Runtime) -> None:
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


def test_they_live_as_long_as_a_run_may_need_them(importing: spirloom.Runtime) -> None:
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


def test_a_runtime_that_does_not_import(runtime: spirloom.Runtime) -> None:
    with pytest.raises(Unsupported, match="VK_EXT_external_memory_host is"):
        runtime.load(relu_graph()).bind_input("x", page_aligned(5))
