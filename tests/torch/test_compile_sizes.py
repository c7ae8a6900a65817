"""Dynamic sizes with spirloom.torch.compile and torch.compile."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import spirloom.torch
import torch
from spirloom.torch import backend
from torch import nn

from tests.torch.compiled import BOTH, Compile, check
from tests.torch.partitioned_networks import make_network

pytestmark = pytest.mark.usefixtures("inference")


@BOTH
def test_different_sizes(compiled: Compile) -> None:
    module, x = nn.Sequential(nn.Linear(32, 32), nn.ReLU()).eval(), torch.randn(8, 32)
    run = compiled(module, x)
    for batch in (8, 3, 5, 1, 8):
        x = torch.randn(batch, 32)
        check(run(x), module(x))


@pytest.mark.parametrize("name", ["nonzero", "sort_by_data"])
def test_bounded_sizes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An export with a bounded size is built once for all sizes."""
    module, (x,) = make_network(name)
    batch = torch.export.Dim("batch", min=2, max=64)
    run = spirloom.torch.compile(module, (x,), dynamic_shapes={"args": ({0: batch},)})
    monkeypatch.setattr(spirloom.Runtime, "load", None)
    for size in (40, 7, 2, 64):
        given = torch.randn(size, 32)
        check(run(given), module(given))


def dynamic_export(module: nn.Module, x: torch.Tensor) -> Any:
    sizes = ({0: torch.export.Dim("batch", min=2)},)
    return spirloom.torch.compile(module, (x,), dynamic_shapes=sizes)


def dynamic_dynamo(module: nn.Module, x: torch.Tensor) -> Any:
    return torch.compile(module, backend="spirloom", dynamic=True)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[spirloom.Model]:
    """The loaded models."""
    models, load = [], spirloom.Runtime.load

    def recorded(*args: Any, **options: Any) -> spirloom.Model:
        models.append(load(*args, **options))
        return models[-1]

    monkeypatch.setattr(spirloom.Runtime, "load", recorded)
    return models


@pytest.mark.parametrize("compiled", [dynamic_export, dynamic_dynamo])
def test_sizes_without_a_maximum_share_builds(
    compiled: Callable[..., Any], loads: list[spirloom.Model]
) -> None:
    """One build for all sizes up to a power of two, with one copy of the weights."""
    module, x = nn.Sequential(nn.Linear(32, 32), nn.ReLU()).eval(), torch.randn(40, 32)
    module = module.requires_grad_(False)
    run = compiled(module, x)
    for size, count in ((40, 1), (7, 1), (2, 1), (64, 1), (63, 1), (65, 2), (128, 2), (40, 2)):
        x = torch.randn(size, 32)
        check(run(x), module(x))
        assert len(loads) == count
    assert [[s.max for s in model.symbols] for model in loads] == [[64], [128]]
    first = weakref.ref(loads.pop(0))
    gc.collect()
    assert first() is None
    module[0].weight.mul_(2)
    check(run(x), module(x))
    assert len(loads) == 2


def test_sizes_are_inputs_of_dynamos_graphs(loads: list[spirloom.Model]) -> None:
    """Dynamo passes sizes as arguments, which views and slices of buffers read."""

    class Rows(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(32, 64), nn.Linear(32, 32)
            self.register_buffer("table", torch.randn(200, 32))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            rows = self.first(x).view(x.shape[0] * 2, 32)[: x.shape[0]]
            return self.last(rows + self.table[: x.shape[0]])

    module = Rows().eval().requires_grad_(False)
    run = dynamic_dynamo(module, torch.randn(40, 32))
    for size in (40, 7, 33):
        x = torch.randn(size, 32)
        check(run(x), module(x))
    (report,) = backend.reports()[:1]
    assert report.is_full
    assert len(loads) == 1


@pytest.mark.parametrize("compiled", [dynamic_export, dynamic_dynamo])
def test_constants_that_depend_on_sizes(
    compiled: Callable[..., Any], loads: list[spirloom.Model]
) -> None:
    class Shifted(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x) * torch.arange(x.shape[0], 2 * x.shape[0])[:, None]

    module = Shifted().eval().requires_grad_(False)
    run = compiled(module, torch.randn(40, 32))
    for size in (40, 7, 9, 7):
        x = torch.randn(size, 32)
        check(run(x), module(x))
    assert len(loads) == 1


def test_graphs_that_need_fixed_sizes_are_built_per_size(loads: list[spirloom.Model]) -> None:
    """Graph files have no quotients of sizes."""

    class Shortened(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)[: x.shape[0] ** 2 // (x.shape[0] + 1)]

    module = Shortened().eval().requires_grad_(False)
    run = dynamic_dynamo(module, torch.randn(40, 32))
    for size in (40, 7, 9, 7):
        x = torch.randn(size, 32)
        check(run(x), module(x))
    assert [model.inputs[0].shape for model in loads] == [(40, 32), (7, 32), (9, 32)]


@pytest.mark.parametrize("compiled", [dynamic_export, dynamic_dynamo])
def test_numbers_that_depend_on_sizes(
    compiled: Callable[..., Any], loads: list[spirloom.Model]
) -> None:
    class Scaled(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x) * x.shape[0] ** 0.5

    module = Scaled().eval().requires_grad_(False)
    run = compiled(module, torch.randn(40, 32))
    for size in (40, 7, 9, 7):
        x = torch.randn(size, 32)
        check(run(x), module(x))
    assert len(loads) == 1


@pytest.mark.parametrize("name", ["nonzero", "sort_by_data", "mask_index"])
def test_dynamic_sizes_of_dynamo(name: str) -> None:
    module, _ = make_network(name)
    run = torch.compile(module, backend="spirloom", dynamic=True)
    for size in (40, 7, 2, 64):
        given = torch.randn(size, 32)
        check(run(given), module(given))


def test_sizes_that_only_one_segment_depends_on() -> None:
    """The first segment has no input with the second size, so each set of sizes is built."""

    class Two(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(32, 32), nn.Linear(32, 32)

        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            h = self.first(a).double().sin().sum(0).float()
            return self.last(b + h) * b.shape[0]

    dims = [torch.export.Dim(name, min=2, max=9) for name in ("one", "other")]
    module = Two().eval()
    run = spirloom.torch.compile(
        module, (torch.randn(4, 32), torch.randn(3, 32)),
        dynamic_shapes=({0: dims[0]}, {0: dims[1]}),
    )  # fmt: skip
    for sizes in ((4, 3), (2, 9), (9, 2)):
        args = [torch.randn(size, 32) for size in sizes]
        check(run(*args), module(*args))
