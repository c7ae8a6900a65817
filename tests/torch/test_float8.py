"""8-bit floats compared with PyTorch: conversions of every code, rounding, constant weights."""

from __future__ import annotations

import pytest
import spirloom
import torch
from spirloom import graph_file
from spirloom.op_library import OpLibrary
from spirloom.torch.build import build
from spirloom.torch.export import decompose, program_of
from spirloom.torch.options import Options
from spirloom.torch.values import own_dtype
from torch import nn

from spec_model.stored_float import decoded, encoded
from tests.torch.compiled import by_export, check, on_device

LIBRARY = OpLibrary()
TYPES = (torch.float8_e4m3fn, torch.float8_e5m2)
BOTH_TYPES = pytest.mark.parametrize("dtype", TYPES, ids=str)
FLOATS = pytest.mark.parametrize("wide", [torch.float32, torch.float16], ids=str)


def _alone(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype in TYPES else x * 1


class Cast(nn.Module):  # type: ignore[misc]
    """Casts to each of several types in turn."""

    def __init__(self, *dtypes: torch.dtype) -> None:
        super().__init__()
        self.dtypes = dtypes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x in the last type. PyTorch computes a cast alone on the host, as it may be an alias."""
        x = _alone(x)
        for dtype in self.dtypes:
            x = x.to(dtype)
        return _alone(x)


def same(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Equal bits, or NaN."""
    found, wanted = found.float(), wanted.float()
    equal = (found == wanted) & (found.signbit() == wanted.signbit())
    return bool((equal | (found.isnan() & wanted.isnan())).all())


@BOTH_TYPES
@FLOATS
def test_every_code_is_exact(dtype: torch.dtype, wide: torch.dtype) -> None:
    x = torch.arange(256, dtype=torch.uint8).view(dtype)
    module = Cast(wide)
    compiled = by_export(module, x)
    assert same(compiled(x), module(x))
    assert on_device(compiled, "aten.to.dtype") == 1


@BOTH_TYPES
@FLOATS
def test_rounding_is_that_of_torch(dtype: torch.dtype, wide: torch.dtype) -> None:
    codes = torch.arange(128, dtype=torch.uint8).view(dtype).double()
    finite = codes[codes.isfinite()]
    middles = (finite[1:] + finite[:-1]) / 2
    step = finite[-1] - finite[-2]
    around = torch.cat([middles, finite, (finite[-1] + step / 2)[None]])
    near = torch.cat([around, around * (1 + 2**-9), around * (1 - 2**-9)])
    x = torch.cat([near, -near, torch.tensor([torch.inf, -torch.inf, torch.nan, -0.0])]).to(wide)
    module = Cast(dtype, torch.float32)
    compiled = by_export(module, x)
    assert same(compiled(x), module(x))
    assert on_device(compiled, "aten.to.dtype") == 2


@BOTH_TYPES
def test_results_are_tensors_of_the_type(dtype: torch.dtype) -> None:
    x = torch.linspace(-3, 3, 37)
    found = by_export(Cast(dtype), x)(x)
    assert found.dtype is dtype
    assert same(found, x.to(dtype))


class Layer(nn.Module):  # type: ignore[misc]
    """A linear layer with an f8 weight and a scale per column, or none."""

    def __init__(self, dtype: torch.dtype, scaled: bool) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.register_buffer("weight", torch.randn(36, 64).to(dtype))
        self.register_buffer("scale", torch.rand(36, 1) if scaled else None)
        self.bias = nn.Parameter(torch.randn(36))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x @ (weight * scale)ᵀ + bias"""
        weight = self.weight.to(x.dtype)
        if self.scale is not None:
            weight = weight * self.scale
        return nn.functional.linear(x, weight, self.bias)


@BOTH_TYPES
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("rows", [1, 5, 70])
def test_a_weight_stays_8_bits(dtype: torch.dtype, scaled: bool, rows: int) -> None:
    module, x = Layer(dtype, scaled), torch.randn(rows, 64)
    program = torch.export.export(module, (x,))
    graph = build(program_of(decompose(program, LIBRARY)), LIBRARY, Options())
    assert [node.op for node in graph.nodes] == ["spirloom.linear_f8"]
    (result,) = spirloom.load(graph_file.to_bytes(graph))(x)
    check(torch.as_tensor(result), module(x).detach())


@BOTH_TYPES
@pytest.mark.parametrize("scaled", [False, True])
def test_a_table_stays_8_bits(dtype: torch.dtype, scaled: bool) -> None:
    layer, index = Layer(dtype, scaled), torch.tensor([[3, 0, 35], [7, 7, 20]])

    class Table(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, index: torch.Tensor) -> torch.Tensor:
            """Rows of weight * scale."""
            weight = self.layer.weight.float()
            if self.layer.scale is not None:
                weight = weight * self.layer.scale
            return nn.functional.embedding(index, weight)

    program = torch.export.export(Table(), (index,))
    graph = build(program_of(decompose(program, LIBRARY)), LIBRARY, Options())
    assert "spirloom.embedding_f8" in [node.op for node in graph.nodes]
    (result,) = spirloom.load(graph_file.to_bytes(graph))(index)
    assert torch.equal(torch.as_tensor(result), Table()(index))


@BOTH_TYPES
def test_conversion_in_numpy_is_that_of_torch(dtype: torch.dtype) -> None:
    own = own_dtype(str(dtype).removeprefix("torch."))
    assert own is not None
    codes = torch.arange(256, dtype=torch.uint8)
    assert same(torch.from_numpy(decoded(codes.numpy().view(own.numpy), own)), codes.view(dtype))
    torch.manual_seed(1)
    x = torch.randn(100_000) * torch.exp2(torch.randint(-24, 24, (100_000,)))
    found = torch.from_numpy(encoded(x.numpy(), own).view("u1")).view(dtype)
    assert same(found, x.to(dtype))
