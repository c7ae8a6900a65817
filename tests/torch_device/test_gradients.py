"""Gradients that kernels compute: equal to those of the CPU, in float32 and float16."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.torch_device.comparison import D, both, close, on_device

Function = Callable[..., Any]

ACTIVATIONS: dict[str, Function] = {
    "relu": F.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "silu": F.silu, "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid, "relu6": F.relu6, "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "elu": F.elu, "selu": F.selu, "softplus": F.softplus, "mish": F.mish,
    "log_sigmoid": F.logsigmoid,
    "glu": F.glu,
    "softmax": lambda x: F.softmax(x, 1), "log_softmax": lambda x: F.log_softmax(x, 0),
    "prelu": lambda x: F.prelu(x, x[0, :1].abs()),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_activations(name: str, dtype: Any) -> None:
    torch.manual_seed(0)
    tolerance = 1e-5 if dtype == torch.float32 else 5e-3
    both(ACTIVATIONS[name], (torch.randn(6, 8) * 3).to(dtype), tolerance=tolerance)


CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "plain": {}, "strided": {"stride": 2, "padding": 1}, "dilated": {"dilation": (2, 1)},
    "uneven": {"stride": (3, 2), "padding": (1, 0)},
}  # fmt: skip


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(name: str, groups: int) -> None:
    torch.manual_seed(0)
    options = CONVOLUTIONS[name] | {"groups": groups}
    x, b = torch.randn(2, 4, 9, 8), torch.randn(6)
    w = torch.randn(6, 4 // groups, 3, 2) / 3
    both(lambda x, w, b: F.conv2d(x, w, b, **options), x, w, b)
    w = torch.randn(4, 6 // groups, 3, 2) / 3
    both(lambda x, w, b: F.conv_transpose2d(x, w, b, **options), x, w, b, tolerance=1e-3)
    line, filters = torch.randn(2, 4, 9), torch.randn(6, 4 // groups, 3)
    both(lambda x, w, b: F.conv1d(x, w, b, stride=2, groups=groups), line, filters, b)


def test_depthwise_convolutions_in_float16() -> None:
    torch.manual_seed(0)
    x, w = torch.randn(2, 4, 9, 8).half(), (torch.randn(4, 1, 3, 3) / 3).half()
    both(lambda x, w: F.conv2d(x, w, padding=1, groups=4), x, w, tolerance=2e-2)


NORMALIZATIONS: dict[str, Function] = {
    "layer": lambda x, w, b: F.layer_norm(x.mT, (6,), w, b),
    "rms": lambda x, w, b: F.rms_norm(x.mT, (6,), w) + b,
    "group": lambda x, w, b: F.group_norm(x, 2, w, b),
    "batch": lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
    "batch_eval": lambda x, w, b: F.batch_norm(x, b.detach(), w.detach().abs() + 1, w, b),
    "instance": lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
    "layer_plain": lambda x, w, b: F.layer_norm(x, (6, 8)) * w[:, None] + b[:, None],
}


@pytest.mark.parametrize("name", NORMALIZATIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_normalizations(name: str, dtype: Any) -> None:
    torch.manual_seed(0)
    tolerance = 1e-4 if dtype == torch.float32 else 2e-2
    x, w, b = torch.randn(3, 6, 8), torch.randn(6), torch.randn(6)
    both(NORMALIZATIONS[name], x.to(dtype), w.to(dtype), b.to(dtype), tolerance=tolerance)


def test_batch_norm_updates_its_running_statistics() -> None:
    x = torch.randn(4, 3, 5, 5)
    module = torch.nn.BatchNorm2d(3)
    own = torch.nn.BatchNorm2d(3).to(D)
    for _ in range(3):
        module(x)
        with on_device():
            own(x.to(D))
    close(own.running_mean, module.running_mean)
    close(own.running_var, module.running_var)


POOLS: dict[str, Function] = {
    "max": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_ceil": lambda x: F.max_pool2d(x, 2, ceil_mode=True),
    "max_1d": lambda x: F.max_pool1d(x[0], 3, 2),
    "max_3d": lambda x: F.max_pool3d(x, 2),
    "average": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "average_inside": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    "average_divisor": lambda x: F.avg_pool2d(x, (2, 3), divisor_override=5),
    "average_1d": lambda x: F.avg_pool1d(x[0], 3),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x, (3, 4)),
    "adaptive_one": lambda x: F.adaptive_avg_pool2d(x, 1),
    "adaptive_max": lambda x: F.adaptive_max_pool2d(x, (3, 4)),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear": lambda x: F.interpolate(x, size=(11, 5), mode="bilinear"),
    "bilinear_aligned": lambda x: F.interpolate(x, 12, mode="bilinear", align_corners=True),
}


@pytest.mark.parametrize("name", POOLS)
def test_pools_and_upsampling(name: str) -> None:
    torch.manual_seed(0)
    both(POOLS[name], torch.randn(2, 3, 9, 10))


LABELS = torch.tensor([2, 0, -100, 4, 1, 1])
LOSSES: dict[str, Function] = {
    "cross_entropy": lambda x, y: F.cross_entropy(x, LABELS.to(x.device)),
    "cross_entropy_weighted": lambda x, y: F.cross_entropy(
        x, LABELS.to(x.device), y[0].detach().abs(), reduction="sum"
    ),
    "cross_entropy_smoothed": lambda x, y: F.cross_entropy(
        x, LABELS.to(x.device), label_smoothing=0.1
    ),
    "cross_entropy_of_images": lambda x, y: F.cross_entropy(
        x.view(1, 5, 2, 3), LABELS.to(x.device).view(1, 2, 3).clamp(min=0)
    ),
    "nll_elements": lambda x, y: F.nll_loss(x, LABELS.to(x.device), reduction="none"),
    "mse": F.mse_loss,
    "l1": F.l1_loss,
    "smooth_l1": lambda x, y: F.smooth_l1_loss(x, y, beta=0.7),
    "huber": lambda x, y: F.huber_loss(x, y, reduction="sum", delta=0.7),
    "bce": lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
    "bce_logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
    "kl": lambda x, y: F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction="batchmean"),
    "cosine": lambda x, y: F.cosine_similarity(x, y).mean(),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_losses(name: str, dtype: Any) -> None:
    torch.manual_seed(0)
    tolerance = 1e-4 if dtype == torch.float32 else 5e-3
    x, y = torch.randn(6, 5).to(dtype), torch.randn(6, 5).to(dtype)
    both(LOSSES[name], x, y, tolerance=tolerance)


def test_embedding_attention_and_indexing() -> None:
    torch.manual_seed(0)
    index = torch.tensor([[1, 2, 0], [3, 1, 1]])
    both(lambda w: F.embedding(index.to(w.device), w, padding_idx=0), torch.randn(5, 4))
    q, k, v = (torch.randn(1, 2, 4, 8) for _ in range(3))
    for causal in (False, True):
        both(
            lambda q, k, v, causal=causal: F.scaled_dot_product_attention(
                q, k, v, is_causal=causal
            ),
            q, k, v,
        )  # fmt: skip
    mask = torch.rand(4, 4) > 0.3
    mask[:, 0] = True
    both(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask.to(q.device)), q, k, v)
    x = torch.randn(4, 6)
    both(lambda x: torch.cat([x[:, 1], x[2], x[1:3, ::2].flatten()]), x)
    both(lambda x: x[index.to(x.device)] * x.gather(1, index.to(x.device)).sum(), x)
    both(lambda x: torch.stack([x, x.roll(1, 0)]).mean(0).cumsum(1).sort(1).values, x)


def test_dropout_is_drawn_on_the_device() -> None:
    x = torch.randn(400, 500, device=D, requires_grad=True)
    with on_device():
        torch.vulkan.manual_seed(3)
        first = F.dropout(x, 0.3)
        second = F.dropout(x, 0.3)
        torch.vulkan.manual_seed(3)
        again = F.dropout(x, 0.3)
        first.sum().backward()
    assert torch.equal(first.cpu(), again.cpu())
    assert not torch.equal(first.cpu(), second.cpu())
    kept = first.detach().cpu() != 0
    assert abs(kept.float().mean().item() - 0.7) < 0.01
    torch.testing.assert_close(first.detach().cpu()[kept], x.detach().cpu()[kept] / 0.7)
    torch.testing.assert_close(x.grad.cpu(), kept / 0.7)
    module = torch.nn.Dropout(0.5).eval()
    assert torch.equal(module(x).detach().cpu(), x.detach().cpu())


OPTIMIZERS: dict[str, Function] = {
    "sgd": lambda p, fused: torch.optim.SGD(
        p, 0.1, 0.9, nesterov=True, weight_decay=0.1, fused=fused
    ),
    "adam": lambda p, fused: torch.optim.Adam(p, 0.1, weight_decay=0.1, amsgrad=True, fused=fused),
    "adamw": lambda p, fused: torch.optim.AdamW(p, 0.1, maximize=True, fused=fused),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("fused", [True, False])
def test_optimizers(name: str, fused: bool) -> None:
    torch.manual_seed(0)
    start, gradient = torch.randn(4, 3), torch.randn(4, 3)
    found = []
    for device in ("cpu", D):
        parameter = torch.nn.Parameter(start.clone().to(device))
        optimizer = OPTIMIZERS[name]([parameter], fused)
        torch.vulkan.reset_cpu_calls()
        for step in range(3):
            parameter.grad = gradient.to(device) * (step - 1.5)
            optimizer.step()
        found.append(parameter.detach())
    assert not torch.vulkan.cpu_calls()
    close(found[1], found[0], 1e-5)
