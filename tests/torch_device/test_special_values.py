"""NaN, infinities and signed zeros, and operators whose PyTorch kernel for all devices is for the
CPU.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.torch_device.comparison import D, close, on_device

NAN = float("nan")
INF = float("inf")
aten = torch.ops.aten
VALUES = torch.tensor([[NAN, 0.25, -0.0], [INF, -INF, 2.0]])


def same(actual: Any, expected: Any, tolerance: float = 1e-4) -> None:
    """As close(), where NaN equals NaN."""
    assert actual.device.type == D
    torch.testing.assert_close(
        actual.cpu(), expected, rtol=tolerance, atol=tolerance, equal_nan=True
    )


def softmax_backward(x: Any) -> Any:
    output = x.nan_to_num(0.5).abs()  # the maximum float32 instead of infinity
    return aten._softmax_backward_data(torch.ones_like(x), output * 2, 1, torch.float32)


def dropout_backward(x: Any) -> Any:
    mask = torch.tensor([[False, True, False], [False, True, True]], device=x.device)
    return aten.native_dropout_backward(x, mask, 2.0)


@pytest.mark.parametrize("function", [softmax_backward, dropout_backward, F.softshrink])
def test_nan_and_infinity_propagate_as_on_the_cpu(function: Any) -> None:
    with on_device():
        actual = function(VALUES.to(D))
    same(actual, function(VALUES))


def test_the_gradient_of_logit_has_the_sign_of_zero() -> None:
    x = torch.tensor([-0.0, 0.0, 0.25, 1.0, -0.5, 1.5])
    one = torch.ones_like(x)
    with on_device():
        actual = aten.logit_backward(one.to(D), x.to(D), None)
        clamped = aten.logit_backward(one.to(D), x.to(D), 0.1)
    # 1 / (x * (1 - x)); PyTorch's CPU kernel ignores the sign of 0.
    same(actual, torch.tensor([-INF, INF, 1 / 0.1875, INF, NAN, NAN]))
    close(clamped, torch.tensor([0, 0, 1 / 0.1875, 0, 0, 0.0]))


def test_the_bessel_function_of_order_zero_has_limits() -> None:
    x = torch.cat([torch.linspace(-20, 20, 41), torch.tensor([NAN, 88, -89])])
    with on_device():
        actual = torch.i0(x.to(D))
        limits = torch.i0(torch.tensor([INF, -INF]).to(D))
    same(actual, torch.i0(x.double()).float(), 1e-5)
    close(limits, torch.tensor([INF, INF]))


@pytest.mark.parametrize("shape", [(), (5,), (2, 2, 3)])
def test_weights_are_saturated_to_float16(shape: tuple[int, ...]) -> None:
    weight = torch.linspace(-1e5, 1e5, 12)[: torch.Size(shape).numel()].reshape(shape)
    own = weight.to(D)
    with on_device():
        actual = aten._saturate_weight_to_fp16(own)
    close(actual, weight.clamp(-65504, 65504))
    close(own, weight)


@pytest.mark.parametrize("sections", [torch.tensor(2), torch.tensor([1, 3])])
def test_sections_of_a_split_may_be_on_the_device(sections: torch.Tensor) -> None:
    x = torch.randn(5, 3)
    own = x.to(D).requires_grad_()
    parts = torch.tensor_split(own, sections.to(D))
    for actual, expected in zip(parts, torch.tensor_split(x, sections), strict=True):
        close(actual.detach(), expected)
    parts[0].sum().backward()
    rows = torch.tensor_split(x, sections)[0].shape[0]
    close(own.grad, torch.cat([torch.ones(rows, 3), torch.zeros(5 - rows, 3)]))


@pytest.mark.parametrize("periodic", [False, True])
def test_kaiser_windows_equal_those_of_the_cpu(periodic: bool) -> None:
    arguments: dict[str, Any] = {"periodic": periodic, "beta": 9.0}
    close(torch.kaiser_window(9, device=D, **arguments), torch.kaiser_window(9, **arguments))
    large = torch.kaiser_window(9, periodic, 100.0, dtype=torch.float64)
    close(torch.kaiser_window(9, periodic, 100.0, device=D), large.float())
    limit = torch.kaiser_window(9, False, INF, device=D)
    close(limit, F.one_hot(torch.tensor(4), 9).float())


def test_out_overloads_copy_results_of_the_device() -> None:
    x = torch.randn(3, 4)
    gradient = torch.randn(3, 4)
    own, own_gradient = x.to(D), gradient.to(D)
    out = torch.empty(0, device=D)
    with on_device():
        buffer = aten.log_sigmoid_forward(own)[1]
        result = aten.log_sigmoid_backward.grad_input(own_gradient, own, buffer, grad_input=out)
    assert result is out
    close(out, gradient * torch.sigmoid(-x))
    targets = [torch.empty(0, device=D) for _ in range(3)]
    arguments = (None, None, True, 0.1, 1e-5)
    with on_device():
        aten.native_batch_norm.out(
            own, None, None, *arguments, out=targets[0], save_mean=targets[1],
            save_invstd=targets[2],
        )  # fmt: skip
    expected = torch.native_batch_norm(x, None, None, *arguments)
    for target, each in zip(targets, expected, strict=True):
        close(target, each)


def test_a_kernel_for_all_devices_does_not_read_device_memory() -> None:
    x = torch.linspace(-1, 1, 12)
    actual = aten.choose_qparams_optimized(x.to(D), 12, 5, 0.5, 8)
    for each, expected in zip(actual, aten.choose_qparams_optimized(x, 12, 5, 0.5, 8), strict=True):
        close(each, expected)
    weights = torch.randn(4, 3)
    mask = torch.tensor([True, False, True, True])
    pruned = aten._rowwise_prune(weights.to(D), mask.to(D), torch.int32)
    for each, expected in zip(pruned, aten._rowwise_prune(weights, mask, torch.int32), strict=True):
        close(each, expected)
