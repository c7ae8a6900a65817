"""Tensors of PyTorch and of other DLPack libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import spirloom
from spirloom.ir import DType
from spirloom.runtime import WrongType

from tests.python_runtime.conftest import maximum_graph, relu_graph

torch = pytest.importorskip("torch")


class Foreign:
    """An array of another library."""

    def __init__(self, array: Any, device: tuple[int, int] = (1, 0)) -> None:
        self._array = array
        self._device = device

    def __dlpack__(self, **_: object) -> Any:
        if self._device[0] != 1:
            raise BufferError("it is in a GPU's memory")
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


def test_torch_inputs_return_torch_outputs(relu: spirloom.Model) -> None:
    x = torch.tensor([-2.0, -1, 0, 1, 2], requires_grad=True)
    (y,) = relu(x)
    assert isinstance(y, torch.Tensor)
    assert y.tolist() == [0, 0, 0, 1, 2]
    (pending,) = relu.submit(x).result()
    assert isinstance(pending, torch.Tensor)
    out = torch.empty(5)
    assert relu.run([x], out=[out])[0] is out
    assert out.tolist() == y.tolist()


def test_a_tensor_among_arrays(runtime: spirloom.Runtime) -> None:
    (y,) = runtime.load(maximum_graph())(torch.ones(4), np.ones(4, np.float32))
    assert isinstance(y, torch.Tensor)


def test_other_dtypes(runtime: spirloom.Runtime) -> None:
    model = runtime.load(relu_graph((3,), DType.I32))
    assert model(torch.tensor([-1, 0, 1 << 20]))[0].tolist() == [0, 0, 1 << 20]
    half = runtime.load(relu_graph((3,), DType.F16))
    assert half(torch.tensor([-1, 0, 2.5]))[0].dtype == torch.float16


def test_strided_tensors(relu: spirloom.Model) -> None:
    assert relu(torch.arange(10.0)[::2])[0].tolist() == [0, 2, 4, 6, 8]


def test_inputs_that_cannot_be_converted(relu: spirloom.Model) -> None:
    with pytest.raises(WrongType, match="Input 'x' requires an array of float32 in host memory"):
        relu(torch.zeros(5, device="meta"))
    with pytest.raises(WrongType, match="a Foreign cannot be converted"):
        relu(Foreign(None, (2, 0)))
    with pytest.raises(TypeError, match="Input 'x' has dtype float32; the array has dtype obj"):
        relu(object())


def test_dlpack(relu: spirloom.Model) -> None:
    (y,) = relu(Foreign(np.arange(5, dtype=np.float32)))
    assert isinstance(y, np.ndarray)
    assert y.tolist() == [0, 1, 2, 3, 4]
    assert np.from_dlpack(y).tolist() == y.tolist()
