"""The two functions that compile a module, and the comparison of results with eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import spirloom.torch
import torch
from spirloom.partition import Report
from spirloom.torch import backend
from torch import nn

Compile = Callable[..., Any]


def by_export(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    return spirloom.torch.compile(module, args, kwargs)


def by_dynamo(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    return torch.compile(module, backend="spirloom")


BOTH = pytest.mark.parametrize("compiled", [by_export, by_dynamo])


def check(found: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    """Compares values, types, shapes and layouts. `tolerance` is relative to the maximum."""
    flat = torch.utils._pytree.tree_leaves
    assert len(flat(found)) == len(flat(wanted))
    for one, other in zip(flat(found), flat(wanted), strict=True):
        assert type(one) is type(other)
        if not isinstance(one, torch.Tensor):
            assert one == other
            continue
        assert (one.dtype, one.shape, one.stride()) == (other.dtype, other.shape, other.stride())
        if one.dtype.is_floating_point and one.numel():
            tolerance = max(tolerance, 2e-2 if one.dtype is torch.bfloat16 else 0)
            assert (one - other).abs().max() <= tolerance * max(other.abs().max().item(), 1e-6)
        else:
            assert torch.equal(one, other)


def reports(run: Any) -> list[Report]:
    return [run.report] if isinstance(run, spirloom.torch.Compiled) else backend.reports()


def on_device(run: Any, op: str) -> int:
    """The number of an operator's nodes on the device."""
    found = [report.operators.get(op) for report in reports(run)]
    return sum(count.device for count in found if count is not None)
