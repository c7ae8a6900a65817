"""Writes to uploaded weights are seen, also those that PyTorch does not count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from spirloom.torch.weight_snapshot import WeightSnapshot
from torch import nn

from tests.torch.compiled import BOTH, Compile, check

ARRAY = np.ones((32, 16), np.float32)

WRITES: dict[str, Callable[[torch.Tensor], object]] = {
    "fill": lambda w: w.data.fill_(0.5),
    "copy": lambda w: w.data.copy_(torch.randn(w.shape)),
    "add": lambda w: w.data.add_(1e-3 * torch.randn(w.shape)),
    "one element": lambda w: w.data.view(-1)[-1:].add_(1),
    "a row": lambda w: w.data[1].mul_(2),
    "swapped rows": lambda w: w.data.copy_(w.data.flip(0)),
    "numpy": lambda w: w.data.numpy().fill(7),
    "counted": lambda w: w.detach().mul_(3),
    "moved": lambda w: setattr(w, "data", torch.randn(w.shape)),
}
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.int8)
LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "dense": lambda x: x,
    "transposed": lambda x: x.T.contiguous().T,
    "part": lambda x: torch.cat([x, x])[len(x) :],
}


@pytest.mark.parametrize("write", WRITES)
def test_writes(write: str) -> None:
    weights = {name: nn.Parameter(torch.randn(32, 16)) for name in "abc"}
    snapshot = WeightSnapshot(weights)
    assert snapshot.changed() == []
    WRITES[write](weights["b"])
    assert snapshot.changed() == ["b"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_and_layouts(dtype: torch.dtype, layout: str) -> None:
    weight = LAYOUTS[layout](torch.randn(7, 5).mul(50).to(dtype))
    snapshot = WeightSnapshot({"w": weight})
    weight.data[3, 3] = 99
    assert snapshot.changed() == ["w"]


def test_weights_without_elements_or_memory_of_the_host() -> None:
    odd = {
        "empty": torch.zeros(0, 3),
        "strided": torch.zeros(4, 4)[:, ::2],
        "0-dim": torch.ones(()),
    }
    snapshot = WeightSnapshot(odd)
    assert snapshot.changed() == []
    odd["0-dim"].data.fill_(2)
    assert snapshot.changed() == ["0-dim"]


def test_every_byte_has_its_turn() -> None:
    """One element of 4 MiB: seen after as many calls as there are windows of 64 KiB, at most."""
    weights = {i: torch.zeros(1 << 18) for i in range(4)}
    snapshot = WeightSnapshot(weights)
    weights[2].data[12345] = 1
    found = [snapshot.changed() for _ in range(66)]
    assert [2] in found


def test_large_writes_to_large_weights_are_seen_at_once() -> None:
    weights = {i: torch.randn(1 << 18) for i in range(4)}
    snapshot = WeightSnapshot(weights)
    weights[3].data.mul_(0.999)
    assert snapshot.changed() == [3]


def _aliased() -> nn.Module:
    layer = nn.Linear(16, 32)
    layer.weight.data = torch.from_numpy(ARRAY)
    return layer


UPDATES: dict[str, tuple[Callable[[], nn.Module], Callable[[Any], object]]] = {
    "moving average": (lambda: nn.Linear(16, 32), lambda m: m.weight.data.mul_(0.9).add_(0.1)),
    "merged adapter": (
        lambda: nn.Linear(16, 32),
        lambda m: m.weight.data.add_(torch.randn(32, 2) @ torch.randn(2, 16)),
    ),
    "memory of numpy": (_aliased, lambda m: ARRAY.fill(3)),
    "statistics": (
        lambda: nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32)),
        lambda m: m[1].running_mean.data.fill_(5),
    ),
}


@pytest.mark.usefixtures("inference")
@pytest.mark.parametrize("update", UPDATES)
@BOTH
def test_compiled_modules_use_the_new_weights(compiled: Compile, update: str) -> None:
    make, change = UPDATES[update]
    module, x = make().eval(), torch.randn(8, 16)
    run = compiled(module, x)
    check(run(x), module(x))
    for _ in range(4):
        change(module)
        check(run(x), module(x))
