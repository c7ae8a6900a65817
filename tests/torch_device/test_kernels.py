"""Operators that Vulkan kernels compute: which calls stay on the device, and how they are
registered with PyTorch's dispatcher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

D = "vulkan"


@contextmanager
def on_device(*allowed: str) -> Iterator[None]:
    """Fails if an operator runs on the CPU, except for the allowed ones."""
    torch.vulkan.reset_cpu_calls()
    yield
    calls = {name: each.reason for name, each in torch.vulkan.cpu_calls().items()}
    assert calls.keys() <= set(allowed), calls


def close(actual: Any, expected: Any) -> None:
    assert actual.device.type == D
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-5)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "numbers": lambda x, y: 2 * x - y / 3 + 1,
    "broadcast": lambda x, y: x * y[:, :1] + y[0],
    "alpha": lambda x, y: torch.add(x, y, alpha=0.5),
    "scalar_tensor": lambda x, y: x * torch.tensor(2.5, dtype=torch.float64),
    "unary": lambda x, y: (x.exp() + y.abs().sqrt()).tanh().sigmoid(),
    "activations": lambda x, y: F.gelu(x) + F.silu(y) + F.leaky_relu(x, 0.2) + F.hardswish(y),
    "gelu_tanh": lambda x, y: F.gelu(x, approximate="tanh"),
    "clamp": lambda x, y: x.clamp(min=-0.5) + y.clamp(-1, 1),
    "compare": lambda x, y: torch.where(x > y, x, y) + (x >= 0.5).float(),
    "transposed": lambda x, y: x.t() + y.t().contiguous(),
    "slices": lambda x, y: x[1:, ::2] * y[:-1, 1::2],
    "reductions": lambda x, y: x.sum(0) + y.mean(0) + x.amax(0) + y.var(0),
    "sum": lambda x, y: x.sum() + y.max(),
    "dtypes": lambda x, y: x.sum(0, dtype=torch.float32) + y.mean(0, dtype=x.dtype),
    "softmax": lambda x, y: F.softmax(x, -1) + F.log_softmax(y, 0),
    "matmul": lambda x, y: x @ y.t(),
    "linear": lambda x, y: F.linear(x, y, y[:, 0]),
    "cat": lambda x, y: torch.cat([x, y, x], 1),
    "pool": lambda x, y: F.avg_pool2d(x[None, None], 2),
    "out": lambda x, y: torch.mul(x, y, out=torch.empty_like(x)),
    "half": lambda x, y: (x.half() + y.half()).float(),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_stays_on_the_device(name: str) -> None:
    x, y = torch.randn(6, 8), torch.randn(6, 8)
    own, other = x.to(D), y.to(D)
    with on_device():
        actual = CALLS[name](own, other)
    tolerance = 5e-3 if name == "half" else 1e-4
    torch.testing.assert_close(actual.cpu(), CALLS[name](x, y), rtol=tolerance, atol=tolerance)


def test_in_place_calls_change_their_view_only() -> None:
    x = torch.arange(40.0).view(5, 8)
    y = x.to(D)
    with on_device():
        y[1:3].mul_(2).add_(1)
        y[4].relu_()
        y[0, 3:6] += y[0, 3:6]
    x[1:3].mul_(2).add_(1)
    x[0, 3:6] += x[0, 3:6]
    close(y, x)


def test_convolutional_networks() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2, groups=2),
        nn.SiLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(72, 10), nn.Softmax(-1),
    ).eval()  # fmt: skip
    x = torch.randn(2, 3, 16, 16)
    with torch.inference_mode():
        expected = module(x)
        module.to(D)
        with on_device():
            actual = module(x.to(D))
    close(actual, expected)


def test_optimizers_stay_on_the_device() -> None:
    parameter = torch.randn(10, 3, device=D, requires_grad=True)
    optimizer = torch.optim.AdamW([parameter], 0.1)
    with on_device():
        for _ in range(2):
            optimizer.zero_grad()
            (parameter * parameter).sum().backward()
            optimizer.step()


def test_transformers_train_on_the_device() -> None:
    torch.manual_seed(0)
    module = nn.TransformerEncoderLayer(16, 2, 32, dropout=0, activation="gelu", batch_first=True)
    x, target = torch.randn(2, 5, 16), torch.randn(2, 5, 16)
    (module(x) - target).pow(2).mean().backward()
    gradients = [parameter.grad for parameter in module.parameters()]
    module.zero_grad()
    module.to(D)
    own, other = x.to(D), target.to(D)
    with on_device():
        (module(own) - other).pow(2).mean().backward()
    for parameter, gradient in zip(module.parameters(), gradients, strict=True):
        close(parameter.grad, gradient)


def test_wrong_calls_have_pytorchs_errors() -> None:
    x, y = torch.ones(2, 3, device=D), torch.ones(4, device=D)
    with pytest.raises(RuntimeError, match="The size of tensor a .3. must match"):
        x + y
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.add(x, x, out=torch.empty(2, 3))
    with pytest.raises(RuntimeError, match="output with shape .* doesn't match"):
        y[:1].add_(y)


def test_composite_operators_keep_their_gradients() -> None:
    """A kernel for an operator that PyTorch decomposes has no gradient, unless PyTorch has a
    formula for the operator itself.
    """
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    own = {name for name in names if has(name, "PrivateUse1")}
    assert len(own) > 500
    composite = {name for name in own if has(name, "CompositeImplicitAutograd")}
    # A kernel of its own decides for each call whether a gradient is required.
    fused = {name for name in composite if has(name, "AutogradPrivateUse1")}
    assert composite - fused == {"aten::linear", "aten::_saturate_weight_to_fp16"}
    assert fused == {
        f"aten::{name}"
        for name in (
            "batch_norm", "group_norm", "layer_norm", "rms_norm", "max_pool1d", "max_pool2d",
            "max_pool3d", "scaled_dot_product_attention",
        )
    }  # fmt: skip
    x = torch.ones(2, 3, device=D, requires_grad=True)
    assert type(F.linear(x, x).grad_fn).__name__ == "LinearBackward0"
