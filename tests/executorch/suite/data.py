"""Test tensors as in ExecuTorch's generated tests (op_tests/utils/gen_correctness_base.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

# The suites' names of dtypes.
DTYPES = {
    "at::kFloat": torch.float32,
    "at::kHalf": torch.float16,
    "at::kInt": torch.int32,
    "at::kChar": torch.int8,
    "at::kBool": torch.bool,
}

_Range = tuple[float, float]


def _random(sizes: Sequence[int], dtype: torch.dtype, bounds: _Range) -> torch.Tensor:
    low, high = bounds
    if dtype is torch.int8:
        return torch.randint(int(high), sizes, dtype=dtype)
    if dtype is torch.bool:
        return torch.rand(sizes) > 0.5
    return torch.rand(sizes, dtype=dtype) * (high - low) + low


def _sequence(sizes: Sequence[int], dtype: torch.dtype, _: _Range) -> torch.Tensor:
    count = torch.arange(1, math.prod(sizes) + 1, dtype=torch.float32)
    return count.reshape(tuple(sizes)).to(dtype)


def _integers(sizes: Sequence[int], dtype: torch.dtype, _: _Range) -> torch.Tensor:
    return torch.randint(1, 20, tuple(sizes)).to(dtype)


_MAKERS: dict[str, Callable[[Sequence[int], torch.dtype, _Range], torch.Tensor]] = {
    "make_rand_tensor": _random,
    "make_seq_tensor": _sequence,
    "make_casted_randint_tensor": _integers,
    "make_zeros_tensor": lambda sizes, dtype, _: torch.zeros(tuple(sizes), dtype=dtype),
    "make_ones_tensor": lambda sizes, dtype, _: torch.ones(tuple(sizes), dtype=dtype),
}


def make_tensor(suite: Any, argument: str, data: Any, dtype: torch.dtype) -> torch.Tensor:
    """The tensor of an argument. `data` is its shape, an int for rank 1, or literal indices."""
    if argument in ("index", "indices"):
        return torch.tensor(data, dtype=torch.int32)
    maker = _MAKERS[suite.arg_data_gen_fn.get(argument, suite.data_gen)]
    named = suite.arg_dtype.get(argument)
    bounds = suite.arg_data_range.get(argument, suite.data_range)
    sizes = list(data) if isinstance(data, list | tuple) else [data]
    return maker(sizes, DTYPES[named] if named else dtype, bounds)


def make_tensors(suite: Any, argument: str, data: Any, dtype: torch.dtype) -> list[torch.Tensor]:
    """The tensors of a list argument; `data` is a list of shapes."""
    maker = _MAKERS[suite.arg_data_gen_fn.get(argument, suite.data_gen)]
    named = suite.arg_dtype.get(argument)
    bounds = suite.arg_data_range.get(argument, suite.data_range)
    return [maker(list(sizes), DTYPES[named] if named else dtype, bounds) for sizes in data]
