"""Gradients, modules, optimizers and what PyTorch has around them, compared with the CPU."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

D = "vulkan"


def close(actual: Any, expected: Any) -> None:
    assert actual.device.type == D
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-5)


def both(function: Callable[..., Any], *tensors: Any) -> None:
    """Equal results and equal gradients on both devices."""
    results = []
    for device in ("cpu", D):
        inputs = [
            each.detach().to(device).requires_grad_(each.is_floating_point()) for each in tensors
        ]
        out = function(*inputs)
        out.pow(2).sum().backward()
        results.append((out, [each.grad for each in inputs]))
    (expected, gradients), (actual, own_gradients) = results
    close(actual, expected)
    for own, gradient in zip(own_gradients, gradients, strict=True):
        if gradient is not None:
            close(own, gradient)


def test_linear_layers() -> None:
    both(
        lambda x, w, b: F.relu(F.linear(x, w, b)),
        torch.randn(4, 3),
        torch.randn(5, 3),
        torch.randn(5),
    )


def test_convolutions() -> None:
    x, w = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)
    both(lambda x, w, b: F.conv2d(x, w, b, padding=1, stride=2), x, w, torch.randn(4))
    both(lambda x, w: F.conv_transpose2d(x, w), torch.randn(1, 3, 4, 4), torch.randn(3, 2, 2, 2))
    both(
        lambda x, w, b: torch.ops.aten.convolution_overrideable(
            x, w, b, [1, 1], [0, 0], [1, 1], False, [0, 0], 1
        )
        if x.device.type == D
        else F.conv2d(x, w, b),
        x, w, torch.randn(4),
    )  # fmt: skip


def test_normalizations() -> None:
    x, w, b = torch.randn(4, 6), torch.randn(6), torch.randn(6)
    both(lambda x, w, b: F.layer_norm(x, (6,), w, b), x, w, b)
    both(lambda x, w: F.rms_norm(x, (6,), w), x, w)
    both(lambda x, w, b: F.group_norm(x, 2, w, b), torch.randn(2, 6, 5), w, b)
    for training in (True, False):
        both(
            lambda x, w, b, training=training: F.batch_norm(
                x, torch.zeros_like(w), torch.ones_like(w), w, b, training
            ),
            x, w, b,
        )  # fmt: skip


def test_attention_embedding_and_losses() -> None:
    q, k, v = (torch.randn(1, 2, 4, 8) for _ in range(3))
    both(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v)
    both(
        lambda i, w: F.embedding(i, w, padding_idx=0),
        torch.tensor([[1, 2], [2, 0]]),
        torch.randn(4, 3),
    )
    both(lambda x, t: F.cross_entropy(x, t), torch.randn(2, 3), torch.tensor([1, 0]))
    both(lambda x: F.max_pool2d(x, 2), torch.randn(1, 2, 6, 6))
    both(
        lambda x: F.grid_sample(x, torch.zeros(1, 2, 2, 2, device=x.device), align_corners=False),
        torch.randn(1, 2, 3, 3),
    )


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("bias", [True, False])
def test_recurrent_layers(kind: Any, bias: bool) -> None:
    torch.manual_seed(0)
    module = kind(3, 4, 2, bias=bias, bidirectional=True)
    x = torch.randn(5, 2, 3)
    expected, _ = module(x)
    expected.pow(2).sum().backward()
    gradients = [parameter.grad.clone() for parameter in module.parameters()]
    module.zero_grad()
    module.to(D)
    actual, _ = module(x.to(D))
    actual.pow(2).sum().backward()
    close(actual, expected)
    for parameter, gradient in zip(module.parameters(), gradients, strict=True):
        close(parameter.grad, gradient)


def test_views_and_versions_in_backward() -> None:
    x = torch.randn(4, 4).to(D).requires_grad_()
    y = x * 2
    y[0] = 0
    y.view(-1)[5:7].mul_(3)
    y.sum().backward()
    expected = torch.full((4, 4), 2.0)
    expected[0] = 0
    expected.view(-1)[5:7] *= 3
    close(x.grad, expected)
    a = torch.randn(3).to(D).requires_grad_()
    b = a.exp()
    b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        b.sum().backward()


def test_second_order_hooks_and_checkpoints() -> None:
    from torch.utils.checkpoint import checkpoint

    x = torch.randn(3).to(D).requires_grad_()
    (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    gradient.sum().backward()
    close(x.grad, 6 * x.detach().cpu())
    for reentrant in (False, True):
        x = torch.randn(3).to(D).requires_grad_()
        x.register_hook(lambda g: g * 2)
        checkpoint(torch.sin, x, use_reentrant=reentrant).sum().backward()
        close(x.grad, 2 * x.detach().cpu().cos())


def test_gradients_across_devices() -> None:
    x = torch.randn(3, requires_grad=True)
    ((x.to(D) * 2).cpu() + x).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((3,), 3.0))


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "adamw": lambda p: torch.optim.AdamW(p, 0.1),
    "adamw_foreach": lambda p: torch.optim.AdamW(p, 0.1, foreach=True),
    "adamw_fused": lambda p: torch.optim.AdamW(p, 0.1, fused=True),
    "sgd_fused": lambda p: torch.optim.SGD(p, 0.1, fused=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str) -> None:
    losses = []
    for device in ("cpu", D):
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
        x = torch.randn(6, 4).to(device)
        module.to(device)
        optimizer = OPTIMIZERS[name](module.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            loss = module(x).pow(2).mean()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert losses[1] == pytest.approx(losses[0], abs=1e-5)


def test_autocast_and_scaling() -> None:
    x = torch.ones(2, 2, device=D)
    with torch.amp.autocast(D, dtype=torch.float16):
        assert (x @ x).dtype == torch.float16
        assert F.softmax(x.half(), -1).dtype == torch.float32
    assert torch.amp.is_autocast_available(D)
    module = nn.Linear(2, 2).to(D)
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    scaler = torch.amp.GradScaler(D)
    scaler.scale(module(x).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 65536


def test_seeds_give_the_values_of_the_cpu() -> None:
    torch.manual_seed(7)
    expected = torch.rand(5)
    torch.manual_seed(7)
    close(torch.rand(5, device=D), expected)
    torch.vulkan.manual_seed(7)
    close(torch.rand(5, device=D), expected)


def test_generators() -> None:
    generator = torch.Generator(D).manual_seed(3)
    first = torch.rand(3, device=D, generator=generator).cpu()
    state = generator.get_state()
    second = torch.randn(3, device=D, generator=generator).cpu()
    generator.set_state(state)
    close(torch.randn(3, device=D, generator=generator), second)
    generator.manual_seed(3)
    close(torch.rand(3, device=D, generator=generator), first)
    assert generator.device.type == D
    before = torch.vulkan.get_rng_state()
    with torch.random.fork_rng(devices=[0], device_type=D):
        torch.rand(2, device=D)
    assert torch.equal(torch.vulkan.get_rng_state(), before)
    torch.rand(2)  # the CPU's generator is another one
    assert torch.equal(torch.vulkan.get_rng_state(), before)


def test_streams_and_events() -> None:
    stream, event = torch.Stream(D), torch.Event(D)
    x = torch.randn(3).to(D).requires_grad_()
    with stream:
        y = x * 2
        assert torch.accelerator.current_stream() == stream
    event.record(stream)
    event.synchronize()
    assert event.query()
    stream.wait_event(event)
    stream.wait_stream(torch.Stream(D))
    stream.synchronize()
    y.sum().backward()
    close(x.grad, torch.full((3,), 2.0))
    y.record_stream(stream)
    first, last = (torch.Event(D, enable_timing=True) for _ in range(2))
    first.record()
    last.record()
    with pytest.raises(NotImplementedError, match="Events of the device 'vulkan' have no times"):
        first.elapsed_time(last)


def test_accelerator_and_memory() -> None:
    assert torch.accelerator.current_accelerator().type == D
    assert torch.accelerator.device_count() == 1
    torch.vulkan.empty_cache()
    before = torch.vulkan.memory_allocated()
    x = torch.ones(1000, device=D)
    assert torch.vulkan.memory_allocated() == before + 4096
    assert torch.vulkan.memory_reserved() >= torch.vulkan.memory_allocated()
    del x
    assert torch.vulkan.memory_allocated() == before
    assert torch.vulkan.max_memory_allocated() >= before + 4096
    torch.vulkan.reset_peak_memory_stats()
    assert torch.vulkan.max_memory_allocated() == before
    free, total = torch.vulkan.mem_get_info()
    assert 0 < free <= total
    assert torch.vulkan.get_device_properties().name == torch.vulkan.get_device_name()
    torch.vulkan.synchronize()
    with pytest.raises(torch.OutOfMemoryError, match="While allocating"):
        torch.empty(2**50, device=D)


def test_compiled_functions() -> None:
    x = torch.randn(3, 3).to(D).requires_grad_()
    function = torch.compile(lambda x, w: F.gelu(x @ w).sum(), backend="aot_eager")
    function(x, x.detach()).backward()
    y = x.detach().cpu().requires_grad_()
    F.gelu(y @ y.detach()).sum().backward()
    close(x.grad, y.grad)


def test_threads_share_the_device() -> None:
    errors: list[BaseException] = []

    def train(seed: int) -> None:
        try:
            generator = torch.Generator().manual_seed(seed)
            x = torch.randn(8, 8, generator=generator)
            for _ in range(10):
                y = x.to(D).requires_grad_()
                (y @ y).sum().backward()
                z = x.clone().requires_grad_()
                (z @ z).sum().backward()
                close(y.grad, z.grad)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=train, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
