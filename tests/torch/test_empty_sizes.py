"""Exported programs whose dynamic sizes may be 0: equal to PyTorch on the device, also there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
from spirloom.torch.export import export, program_of
from torch import nn
from torch.export import Dim
from torch.nn import functional

WIDTH, MAX = 4, 5
WEIGHT = torch.linspace(-1, 1, 3 * WIDTH).reshape(3, WIDTH)


def _attended(x: torch.Tensor) -> torch.Tensor:
    """Attention that a pass finds."""
    return (x @ x.transpose(-1, -2) * 0.5).softmax(-1) @ x


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda x: x + 1,
    "sum": lambda x: x.sum(0),
    "sum_of_all": lambda x: x.sum(),
    "mean": lambda x: x.mean(0),
    "mean_of_rows": lambda x: x.mean(1),
    "variance": lambda x: x.var(0, correction=0),
    "product": lambda x: x.prod(0),
    "any": lambda x: (x > 0).any(0),
    "all": lambda x: (x > 0).all(0),
    "cumsum": lambda x: x.cumsum(0),
    "rows": lambda x: functional.linear(x, WEIGHT),
    "inner": lambda x: x.T @ x,
    "outer": lambda x: x @ x.T,
    "weighted": lambda x: (x @ x.T * 0.5).softmax(-1) @ x,
    "batches": lambda x: x[:, None, :] @ WEIGHT.T,
    "cat": lambda x: torch.cat([x, WEIGHT, x * 2]),
    "cat_columns": lambda x: torch.cat([x, x + 1], 1),
    "softmax": lambda x: x.softmax(0),
    "softmax_of_rows": lambda x: x.softmax(1),
    "layer_norm": lambda x: functional.layer_norm(x, (WIDTH,)),
    "convolution": lambda x: functional.conv1d(x[:, None], WEIGHT[:, None, :3]),
    "pool": lambda x: functional.max_pool1d(x[:, None], 2),
    "embedding": lambda x: functional.embedding(x[:, 0].abs().int() % 3, WEIGHT),
    "flatten": lambda x: x.reshape(-1),
    "fold": lambda x: x.view(-1, 2, 2).transpose(1, 2).flatten(1),
    "pad": lambda x: functional.pad(x, (0, 0, 1, 2)),
    "reversed": lambda x: x.flip(0),
    "positions": lambda x: torch.arange(x.shape[0]) * 2,
    "mask": lambda x: torch.full((x.shape[0], x.shape[0]), -1.0).triu(1),
    "scaled": lambda x: x * (1 + x.shape[0]),
    "transposed": lambda x: x.T.contiguous(),
    "compare": lambda x: torch.where(x > 0, x, -x),
    "gate": lambda x: torch.sigmoid(x) * torch.tanh(x),
}
# PyTorch refuses these at 0, but attention to no keys or of no batches, which Spirloom refuses,
# also if a pass finds it.
REFUSED: dict[str, Callable[..., Any]] = {
    "decomposed": lambda x: _attended(x[None, None]),
    "attention": lambda x: torch.ops.aten.scaled_dot_product_attention(x[None], x[None], x[None]),
    "attention_of_batches": lambda x: torch.ops.aten.scaled_dot_product_attention(
        x[:, None], x[:, None], x[:, None]
    ),
    "power": lambda x: x * x.shape[0] ** -0.5,
    "reciprocal": lambda x: x * (1 / x.shape[0]),
    "reciprocal_root": lambda x: x * (1 / x.shape[0] ** 0.5),
    "amax": lambda x: x.amax(0),
    "argmax": lambda x: x.argmax(0),
    "first": lambda x: x[0] * 2,
}


class Function(nn.Module):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def _loaded(function: Callable[..., Any]) -> Any:
    """The model with a minimum of 0."""
    x = torch.ones(MAX, WIDTH)
    dims = ({0: Dim("n", min=0, max=MAX)},)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(
            Function(function).eval(), (x,), dynamic_shapes=dims, strict=False
        )
    bounds = dict.fromkeys(program_of(exported).symbols, (0, MAX))
    return spirloom.load(export(exported, dims=bounds))


def _compare(model: Any, function: Callable[..., Any], sizes: range) -> None:
    for size in (MAX, *sizes):
        x = (torch.arange(float(size * WIDTH)).reshape(size, WIDTH) % 7) / 4 - 0.5
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a variance of too few elements
            expected = function(x)
        (found,) = model(x)
        assert tuple(found.shape) == tuple(expected.shape), size
        np.testing.assert_allclose(
            found, expected, rtol=1e-5, atol=1e-5, equal_nan=True, err_msg=str(size)
        )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_equal_those_of_pytorch(name: str) -> None:
    model = _loaded(FUNCTIONS[name])
    assert [(symbol.min, symbol.max) for symbol in model.symbols] == [(0, MAX)]
    _compare(model, FUNCTIONS[name], range(MAX + 1))


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_sizes_narrow_the_range(name: str, caplog: pytest.LogCaptureFixture) -> None:
    model = _loaded(REFUSED[name])
    assert [(symbol.min, symbol.max) for symbol in model.symbols] == [(1, MAX)]
    assert "is narrowed to 1..5" in caplog.text
    _compare(model, REFUSED[name], range(1, MAX + 1))


def test_programs_are_not_empty_by_default() -> None:
    """A stated minimum of 0 is torch.export's default."""
    exported = torch.export.export(
        Function(lambda x: x + 1), (torch.ones(3, 4),), dynamic_shapes=({0: Dim("n", max=5)},)
    )
    (symbol,) = spirloom.load(export(exported)).symbols
    assert symbol.min >= 1
