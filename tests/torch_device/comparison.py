"""Comparisons of the device with the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

D = "vulkan"


@contextmanager
def on_device() -> Iterator[None]:
    """Fails if an operator runs on the CPU."""
    torch.vulkan.reset_cpu_calls()
    yield
    calls = {name: each.reason for name, each in torch.vulkan.cpu_calls().items()}
    assert not calls, calls


def close(actual: Any, expected: Any, tolerance: float = 1e-4) -> None:
    """Equal types and shapes, and about equal values."""
    assert actual.device.type == D
    torch.testing.assert_close(actual.cpu(), expected, rtol=tolerance, atol=tolerance)


def both(function: Callable[..., Any], *tensors: Any, tolerance: float = 1e-4) -> None:
    """Equal results, and equal gradients of the sum of their squares, without calls on the CPU."""
    results = []
    for device in ("cpu", D):
        inputs = [
            each.detach().to(device).requires_grad_(each.is_floating_point()) for each in tensors
        ]
        torch.vulkan.reset_cpu_calls()
        out = function(*inputs)
        out.float().pow(2).sum().backward()
        results.append((out.detach(), [each.grad for each in inputs]))
    calls = {name: each.reason for name, each in torch.vulkan.cpu_calls().items()}
    assert not calls, calls
    (expected, gradients), (actual, own_gradients) = results
    close(actual, expected, tolerance)
    for own, gradient in zip(own_gradients, gradients, strict=True):
        assert (own is None) == (gradient is None)
        if gradient is not None:
            close(own, gradient, tolerance)
