"""int64 and bool tensors, and the indices of operators: exact on the device, without the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.torch_device.comparison import D, on_device

LONG = [3, -7, 0, 2**31, -(2**31) - 1, 2**40 + 5, -(2**62), 2**63 - 1]
OTHER = [5, -7, 1, -1, 2**33, 2**40 + 6, -(2**62) + 1, -(2**63)]

Function = Callable[..., Any]

ARITHMETIC: dict[str, Function] = {
    "add": lambda x, y: x + y,
    "numbers": lambda x, y: (x * 3 - 1, 2 - y, x + 2**40),
    "mul": lambda x, y: x * y,
    "division": lambda x, y: (x // y, x % y, x % 7, x // -3, torch.fmod(x, y)),
    "clamp": lambda x, y: (x.clamp(min=0), x.clamp(-5, 2**40), y.clamp_max(3)),
    "maximum": lambda x, y: (torch.maximum(x, y), torch.minimum(x, y)),
    "compare": lambda x, y: (x == y, x != y, x < y, x <= y, x > y, x >= y, x > 4, x == 2**31),
    "bits": lambda x, y: (x & y, x | y, x ^ y),
    "broadcast": lambda x, y: x[:, None] + y[None, :4],
    "where": lambda x, y: (torch.where(x > y, x, y), torch.where(x > 0, x, -100)),
    "masked_fill": lambda x, y: x.masked_fill(x < 0, 9),
    "in_place": lambda x, y: x.clone().add_(y).sub_(1),
    "signs": lambda x, y: (x.abs(), -y),
    "sums": lambda x, y: (x.sum(), (x > 0).sum(), x.view(2, 4).sum(0), x.view(2, 4).sum(1, True)),
    "cumsum": lambda x, y: (x.cumsum(0), (x > 0).cumsum(0), y.view(2, 4).cumsum(0)),
    "extremes": lambda x, y: (x.max(), y.min(), x.view(2, 4).amax(1)),
    "any": lambda x, y: (x.any(), x.all(), x.view(2, 4).all(1)),
    "moved": lambda x, y: (torch.cat([x, y]), x.flip(0), x.roll(3, 0), x[::2], x.repeat(2, 2)),
    "picked": lambda x, y: (
        x[torch.tensor([7, -1, 0]).to(x.device)],
        x.index_select(0, torch.tensor([5, 3]).to(x.device)),
        x.view(2, 4).gather(1, torch.tensor([[3, 0], [1, 1]]).to(x.device)),
    ),
    "stored": lambda x, y: (
        x.clone().view(2, 4).index_put_((torch.tensor([1]).to(x.device),), y[:4])
    ),
    "stacked": lambda x, y: torch.stack([x, y], 1),
    "filled": lambda x, y: (torch.full_like(x, -100), x.new_full((3, 2), 2**40)),
    "to_float": lambda x, y: (x.float(), x.half(), x / 4, x * 0.5, x + y.float()),
    "to_int": lambda x, y: (x.int(), x.to(torch.uint8), x.to(torch.int8), x.bool()),
    "from": lambda x, y: (
        x.float().clamp(-(2.0**60), 2.0**60).long(), x.int().long(), x.bool().long()
    ),
}  # fmt: skip


def compare(function: Function, *tensors: Any) -> None:
    """Equal values and dtypes without the CPU; those of floats to the last bit."""
    expected = function(*tensors)
    own = [tensor.to(D) for tensor in tensors]
    with on_device():
        actual = function(*own)
    if isinstance(expected, torch.Tensor):
        expected, actual = (expected,), (actual,)
    for one, other in zip(actual, expected, strict=True):
        assert one.device.type == D
        torch.testing.assert_close(one.cpu(), other, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", ARITHMETIC)
def test_int64_is_exact(name: str) -> None:
    compare(ARITHMETIC[name], torch.tensor(LONG), torch.tensor(OTHER))


def test_float32_of_int64_is_rounded_once() -> None:
    values = [2**24 + 1, 2**31 + 64, 2**40 + 2**16, -(2**50) - 1, 2**62 + 2**38, 2**63 - 1]
    values += [2**31 + 192, (2**25 + 1) * 2**30, (2**25 + 1) * 2**30 + 1, -(2**63)]
    compare(lambda x: x.float(), torch.tensor(values))


INDICES: dict[str, Function] = {
    "argmax": lambda x, i: (x.argmax(), x.argmax(1), x.argmin(0, keepdim=True)),
    "topk": lambda x, i: x.topk(3, 1),
    "sort": lambda x, i: (*x.sort(1), x.argsort(0), *x.sort(dim=0, stable=True, descending=True)),
    "max": lambda x, i: (*x.max(1), *x.min(0), *x.cummax(1)),
    "pool": lambda x, i: F.max_pool2d(x[None, None], 2, return_indices=True),
    "gather": lambda x, i: (x.gather(1, i), x.take_along_dim(i, 1)),
    "index": lambda x, i: (x[i[0]], x[:, i], x[i[0], i[1]], x[i[:, :1], i[1]], x[None][:, i[0]]),
    "embedding": lambda x, i: F.embedding(i, x, padding_idx=0),
    "scatter": lambda x, i: (
        x.scatter(1, i, x), x.scatter(1, i, 2.0), x.scatter_add(1, i, x),
        x.index_add(0, i[0], x[:4]), x.index_copy(0, i[0], x[:4]),
    ),
    "put": lambda x, i: (
        x.clone().index_put_((i[0], i[1]), x[0, :4]),
        x.clone().index_put_((i[0],), x[:4], accumulate=True),
        x.clone().masked_fill_(x > 0, 3),
    ),
    "assigned": lambda x, i: assigned(x.clone(), i),
    "one_hot": lambda x, i: F.one_hot(i, 6),
    "bools": lambda x, i: (
        (x > 0) & ~(x > 1) | (x < -1), (x > 0).tril(1), (x > 0).any(0), (x > 0) ^ (x < 1)
    ),
    "triangles": lambda x, i: (x.tril(), x.triu(1), torch.ones_like(x, dtype=torch.bool).triu()),
    "sequences": lambda x, i: (
        torch.arange(7, device=x.device), torch.arange(0.5, 3, 0.3, device=x.device),
        torch.linspace(0, 1, 5, device=x.device), torch.eye(3, device=x.device),
    ),
}  # fmt: skip


def assigned(x: Any, i: Any) -> Any:
    """x after stores to strided views."""
    x[:, 1] = x[:, 2]
    x[::2, 3:5] = 7
    x[1].fill_(2)
    x[x > 1.5] = -1.0
    i = i.clone()
    i[:, 0] = 5
    return x, i


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_indices_are_int64(name: str, dtype: Any) -> None:
    torch.manual_seed(0)
    x = torch.randperm(48).view(6, 8).to(dtype) / 16 - 1
    compare(INDICES[name], x, torch.tensor([[1, 0, 3, 5], [2, 4, 0, 1], [1, 3, 2, 5]] * 2))


def test_bfloat16_computes_in_float32() -> None:
    x = torch.randn(6, 8).bfloat16()
    compare(lambda x: (x.t().contiguous(), x + x[:1], x[:, ::2], x.relu(), x.float()), x)
