"""Exported programs with dynamic sizes: imported on symbols, equal to PyTorch at every size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
from spirloom import graph_file
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.symbolic.specialize import specialize
from spirloom.torch.build import build
from spirloom.torch.export import decompose, program_of
from spirloom.torch.options import Options
from torch import nn
from torch.export import Dim
from torch.nn import functional

from tests.frontend import reference_run

LIBRARY = OpLibrary()
N, M = Dim("n", min=3, max=9), Dim("m", min=2, max=6)
Size = tuple[int, ...]


class Block(nn.Module):  # type: ignore[misc]
    """Attention with a causal mask and a position table."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)
        self.register_buffer("table", torch.randn(8, 16))
        self.positions = nn.Embedding(8, 16)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        x = x + self.table[:length] + self.positions(torch.arange(length)) + y.mean()
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, 2, 8).permute(2, 0, 3, 1, 4)
        mask = torch.full((length, length), -torch.inf).triu(1)
        attended = (q @ k.transpose(-1, -2) * 0.3 + mask).softmax(-1) @ v
        return x + self.out(attended.transpose(1, 2).reshape(batch, length, 16))


class Function(nn.Module):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return self.function(x, y)


class Convolutions(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(2, 4, 3, 2, 1), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Conv2d(4, 3, 1)
        )

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.layers(x[None, None].expand(1, 2, -1, -1)) + y.sum()


def _spans(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Constants that are parts of those of the maximum sizes."""
    rows = torch.arange(x.shape[0])
    shifted = torch.cat([rows.new_full((1,), -1), rows])[1:]
    mask = (rows[:, None] + 2 * shifted) % 3 == 0
    return torch.where(mask, x[:, :1], rows * 0.5) + y[0, 0]


# By name: the function of x and y, their shapes by n and m, and the dynamic dimensions.
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[int, int], tuple[Size, Size]]]] = {
    "broadcast": (lambda x, y: x * 2 + y[:1, :1], lambda n, m: ((n, 4), (m, 4))),
    "flatten": (lambda x, y: x.reshape(-1) * y.sum(), lambda n, m: ((n, 4), (m, 4))),
    "cat": (lambda x, y: torch.cat([x, y, x]) + 1, lambda n, m: ((n, 4), (m, 4))),
    "halves": (
        lambda x, y: x[:1].expand(x.shape[0] // 2 + 1, 4) * y[0],
        lambda n, m: ((n, 4), (m, 4)),
    ),
    "windows": (lambda x, y: x.unfold(0, 2, 1).sum(-1) + y[0], lambda n, m: ((n, 4), (m, 4))),
    "outer": (lambda x, y: (x[:, None] + y).flatten(0, 1), lambda n, m: ((n, 4), (m, 4))),
    "matmul": (lambda x, y: (x @ y.T).softmax(-1), lambda n, m: ((n, 4), (m, 4))),
    "reduce": (lambda x, y: x.mean(0) + y.amax(0), lambda n, m: ((n, 4), (m, 4))),
    "repeat": (lambda x, y: x.repeat(2, 3) * y[0, 0], lambda n, m: ((n, 4), (m, 4))),
    "pad": (lambda x, y: functional.pad(x, (1, 2, 0, 3)) + y[0, 0], lambda n, m: ((n, 4), (m, 4))),
    "spans": (_spans, lambda n, m: ((n, 4), (m, 4))),
    "mean": (lambda x, y: x.sum(0) / x.shape[0] + y[0], lambda n, m: ((n, 4), (m, 4))),
    "scale": (lambda x, y: (x @ y.T) / y.shape[0] ** 0.5, lambda n, m: ((n, 4), (m, 4))),
    "inverse": (
        lambda x, y: x * (1.0 / (x.shape[0] - 1)) - 2 * y.shape[0],
        lambda n, m: ((n, 4), (m, 4)),
    ),
    "product": (lambda x, y: x * (x.shape[0] * y.shape[0]), lambda n, m: ((n, 4), (m, 4))),
    "mask": (
        lambda x, y: x.masked_fill(torch.arange(9)[: x.shape[0], None] < y.shape[0], 0.0),
        lambda n, m: ((n, 4), (m, 4)),
    ),
    "filled": (
        lambda x, y: torch.full((y.shape[0],), x.shape[0], dtype=torch.float32) + x[0, 0],
        lambda n, m: ((n, 4), (m, 4)),
    ),
    "permute": (
        lambda x, y: x.permute(1, 0, 2).reshape(x.shape[1], -1)[:, 1:] + y[0, 0],
        lambda n, m: ((n, 3, 5), (m, 4)),
    ),
}


def _imported(module: nn.Module, shapes: tuple[Size, Size], dims: Any) -> tuple[Graph, int]:
    """The graph, and the number of imports."""
    torch.manual_seed(0)
    args = tuple(torch.randn(shape) for shape in shapes)
    exported = torch.export.export(module.eval(), args, dynamic_shapes=dims, strict=False)
    program, lines = program_of(decompose(exported, LIBRARY)), list[str]()
    graph = build(program, LIBRARY, Options(), report=lines.append)
    return graph, sum(line.startswith("call 1 of") for line in lines)


def _check(graph: Graph, module: nn.Module, args: tuple[torch.Tensor, ...]) -> None:
    names = [tensor.name for tensor in graph.inputs]
    sizes: dict[str, int] = {}
    for tensor, arg in zip(graph.inputs, args, strict=True):
        sizes |= {str(size): given for size, given in zip(tensor.shape, arg.shape, strict=True)}
    special = specialize(graph, {s.name: sizes[s.name] for s in graph.symbols}, LIBRARY)
    given: Mapping[str, Any] = {n: a.numpy() for n, a in zip(names, args, strict=True)}
    (found,) = reference_run.run(special, given).values()
    with torch.no_grad():
        wanted = module(*args).numpy()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    """Two imports: on symbols, and at the minimum sizes for comparison."""
    function, shapes = FUNCTIONS[name]
    module = Function(function)
    graph, count = _imported(module, shapes(5, 4), ({0: N}, {0: M}))
    assert count == 2
    for n, m in product(range(3, 10), range(2, 7)):
        _check(graph, module, tuple(torch.randn(shape) for shape in shapes(n, m)))


def test_attention() -> None:
    module = Block()
    batch, length = Dim("batch", min=1, max=3), Dim("length", min=1, max=8)
    graph, count = _imported(module, ((2, 5, 16), (2, 4)), ({0: batch, 1: length}, None))
    assert count == 2
    for n, m in product(range(1, 9), range(1, 4)):
        _check(graph, module, (torch.randn(m, n, 16), torch.randn(2, 4)))


def test_convolutions() -> None:
    module = Convolutions()
    rows, columns = Dim("rows", min=5, max=14), Dim("columns", min=5, max=11)
    graph, count = _imported(module, ((9, 8), (2, 4)), ({0: rows, 1: columns}, None))
    assert count == 2
    for n, m in product(range(5, 15), range(5, 12)):
        _check(graph, module, (torch.randn(n, m), torch.randn(2, 4)))


def test_numbers_on_the_device() -> None:
    """A mean and a scale by 1/sqrt(n), which are read from tables."""
    module = Function(lambda x, y: (x.sum(0) / x.shape[0]) @ y.T / y.shape[0] ** 0.5)
    graph, _ = _imported(module, ((5, 4), (3, 4)), ({0: N}, {0: M}))
    model = spirloom.load(graph_file.to_bytes(graph))
    for n, m in ((3, 6), (9, 2), (4, 5)):
        x, y = torch.randn(n, 4), torch.randn(m, 4)
        (found,) = model(x.numpy(), y.numpy())
        np.testing.assert_allclose(found, module(x, y).numpy(), rtol=1e-4, atol=1e-5)
