"""Sizes that depend on the data: nonzero, masked_select and masks as indices, on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import spirloom
import spirloom.torch
import torch
from onnx import TensorProto
from spirloom.errors import ImportFailure
from spirloom.ir import Array
from torch.nn import functional

from tests.frontend.models import node
from tests.torch.test_onnx_nms import expected, loaded, model_of

W = torch.arange(12.0).view(4, 3) / 8
FUNCTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "nonzero": lambda x: torch.nonzero(x > 0),
    "nonzero_of_numbers": lambda x: x.relu().nonzero(),
    "three_coordinates": lambda x: torch.nonzero(x.reshape(3, 2, 4) > 0),
    "masked_select": lambda x: torch.masked_select(x, x > 0) * 2 + 1,
    "broadcast_mask": lambda x: torch.masked_select(x, x[:, :1] > 0),
    "elements": lambda x: x[x > 0].sqrt(),
    "rows": lambda x: x[x.sum(1) > 0].relu(),
    "layers_of_rows": lambda x: (torch.softmax(x[x.sum(1) > 0] @ W, -1), x.sum()),
    "indices": lambda x: x.flatten()[torch.nonzero(x.flatten() > 0)[:, 0]],
    "embedding": lambda x: functional.embedding(torch.nonzero(x[:, 0] > 0), W[:, :2].repeat(2, 1)),
    "moved": lambda x: torch.cat([y := x[x[:, 0] > 0].T[None, :, :], y * 2], 1)[:, 1:7],
    "constant_mask": lambda x: x[torch.tensor([True, False, True, True, False, False])] + 1,
}


class Calling(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def exported(function: Callable[[torch.Tensor], Any]) -> bytes:
    data = spirloom.torch.export(Calling(function), (torch.ones(6, 4),))
    assert isinstance(data, bytes)
    return data


def inputs() -> Iterator[torch.Tensor]:
    yield torch.ones(6, 4)
    yield -torch.ones(6, 4)  # selects nothing
    values = torch.Generator().manual_seed(3)
    for _ in range(4):
        yield torch.randint(-3, 4, (6, 4), generator=values).float()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_outputs_have_their_true_size(name: str) -> None:
    function = FUNCTIONS[name]
    model = spirloom.load(exported(function))
    for x in inputs():
        wanted = function(x)
        for found, own in zip(
            model(x=x.numpy()), wanted if isinstance(wanted, tuple) else (wanted,), strict=True
        ):
            assert found.shape == own.shape
            np.testing.assert_allclose(found, own.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[x > 0].sum(),
        lambda x: x[x > 0].cumsum(0),
        lambda x: x[x > 0] / x[x > 0].shape[0],
        lambda x: x[x > 0].flip(0),
        lambda x: torch.cat([x[x > 0], x.flatten()]),
        lambda x: x[x[:, 0] > 0].softmax(0),
        lambda x: torch.nonzero(torch.nonzero(x)),
    ],
    ids=["sum", "cumsum", "size", "flip", "cat", "softmax", "nonzero"],
)
def test_results_that_mix_selected_elements_with_others_are_refused(
    function: Callable[[torch.Tensor], Any],
) -> None:
    with pytest.raises(ImportFailure, match="depends on the data"):
        exported(function)


@pytest.mark.parametrize("kind", ["NonZero", "Compress", "Compress_rows", "Compress_short"])
def test_onnx_runtime_selects_the_same(kind: str, tmp_path: Any) -> None:
    nodes = {
        "NonZero": [node("NonZero", "x", "y")],
        "Compress": [node("Greater", "x zero", "mask"), node("Reshape", "mask all", "flat"),
                     node("Compress", "x flat", "chosen"), node("Abs", "chosen", "y")],
        "Compress_rows": [node("ReduceMax", "x", "top", axes=[1], keepdims=0),
                          node("Greater", "top zero", "mask"),
                          node("Compress", "x mask", "y", axis=0)],
        "Compress_short": [node("ReduceMax", "x", "top", axes=[0], keepdims=0),
                           node("Greater", "top zero", "mask"),
                           node("Compress", "x mask", "y", axis=0)],
    }[kind]  # fmt: skip
    constants: dict[str, Array] = {
        "zero": np.array(0, np.float32),
        "all": np.array([-1], np.int64),
    }
    given = {"x": np.ones((6, 4), np.float32)}
    dtype = TensorProto.INT64 if kind == "NonZero" else TensorProto.FLOAT
    model = model_of(nodes, given, constants, {"y": dtype})
    found = loaded(model, tmp_path)
    for x in inputs():
        (wanted,) = expected(model, {"x": x.numpy()})
        np.testing.assert_array_equal(found(x=x.numpy())[0], wanted)
