"""Networks with unsupported operators between supported ones, and their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Case = tuple[nn.Module, tuple[torch.Tensor, ...]]
CASES: dict[str, Callable[[], Case]] = {}


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    """Registers a network under its function's name."""
    CASES[make.__name__] = make
    return make


class Net(nn.Module):  # type: ignore[misc]
    """Calls a function with layers and the arguments."""

    def __init__(self, middle: Callable[..., Any], **layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleDict(layers)
        self.middle = middle

    def forward(self, *args: torch.Tensor) -> Any:
        return self.middle(self.layers, *args)


def linears() -> dict[str, nn.Module]:
    return {"first": nn.Linear(32, 32), "last": nn.Linear(32, 32)}


def images(size: int = 16) -> torch.Tensor:
    return torch.randn(2, 3, size, size)


@case
def nonzero() -> Case:
    """Selects rows by a data-dependent condition."""

    def run(layers: Any, x: torch.Tensor) -> Any:
        h = torch.relu(layers.first(x))
        rows = torch.nonzero(h[:, 0] > 0.3).squeeze(1)
        return layers.last(h).sum(0), rows, h.index_select(0, rows)

    return Net(run, **linears()), (torch.randn(40, 32),)


@case
def greedy_nms() -> Case:
    """Greedy non-maximum suppression: masks boxes that overlap a box with a higher score."""

    def run(layers: Any, x: torch.Tensor) -> Any:
        h = layers.first(x)
        scores, order = torch.sort(torch.sigmoid(layers.last(h)[:, 0]), descending=True)
        corner = h[order, :2]
        boxes = torch.cat([corner, corner + h[order, 2:4].abs() + 0.5], 1)
        low = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
        high = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
        common = (high - low).clamp(min=0).prod(2)
        area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
        overlap = common / (area[:, None] + area[None] - common) > 0.1
        keep = torch.ones(len(scores), dtype=torch.bool)
        for i in range(len(scores) - 1):
            worse = torch.arange(len(scores)) > i
            keep = keep & ~(overlap[i] & worse & keep[i])
        return boxes[keep], scores[keep], order[keep]

    return Net(run, **linears()), (torch.randn(12, 32),)


@case
def spectrum() -> Case:
    """Convolution, a filter in the frequency domain, convolution."""

    def run(layers: Any, x: torch.Tensor) -> Any:
        h = torch.nn.functional.gelu(layers.first(x))
        f = torch.fft.rfft2(h)
        f = f * torch.polar(torch.ones(9), torch.linspace(0, 1, 9))
        return layers.last(torch.fft.irfft2(f, s=h.shape[-2:]))

    layers = {"first": nn.Conv2d(3, 8, 3, padding=1), "last": nn.Conv2d(8, 4, 3, padding=1)}
    return Net(run, **layers), (images(),)


@case
def complex_rotary() -> Case:
    """RoPE with complex numbers, as in Llama's original code."""
    turns = torch.polar(torch.ones(12, 4), torch.outer(torch.arange(12.0), torch.rand(4)))

    def run(layers: Any, x: torch.Tensor) -> Any:
        def rotated(t: torch.Tensor) -> torch.Tensor:
            pairs = torch.view_as_complex(t.reshape(2, 12, 4, 4, 2))
            return torch.view_as_real(pairs * turns[None, :, None]).flatten(3)

        q, k = (rotated(layer(x).view(2, 12, 4, 8)) for layer in (layers.first, layers.last))
        v = x.view(2, 12, 4, 8)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        h = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return h.transpose(1, 2).reshape(2, 12, 32)

    return Net(run, **linears()), (torch.randn(2, 12, 32),)


@case
def sort_by_data() -> Case:
    """Sorts tokens by their scores, and restores the order."""

    def run(layers: Any, x: torch.Tensor) -> Any:
        h = layers.first(x)
        order = torch.argsort(h[:, 0])
        mixed = torch.softmax(layers.last(h[order]), -1)
        return mixed[torch.argsort(order)], order

    return Net(run, **linears()), (torch.randn(24, 32),)


@case
def topk_by_data() -> Case:
    """A mixture of experts: each token uses its best two."""

    def run(layers: Any, x: torch.Tensor) -> Any:
        weight, index = torch.topk(torch.softmax(layers.gate(x), -1), 2)
        every = torch.stack([layers.first(x), layers.last(x), layers.third(x)], 1)
        chosen = torch.gather(every, 1, index[:, :, None].expand(-1, -1, 32))
        return (chosen * weight[:, :, None]).sum(1), index

    more = {"gate": nn.Linear(32, 3), "third": nn.Linear(32, 32)}
    return Net(run, **linears(), **more), (torch.randn(24, 32),)


@case
def mask_index() -> Case:
    """Changes the elements that a mask selects."""

    def run(layers: Any, x: torch.Tensor) -> Any:
        h = layers.first(x)
        mask = h[:, 0] > 0
        chosen = layers.last(h[mask])
        return h.masked_scatter(mask[:, None].expand_as(h), chosen), mask

    return Net(run, **linears()), (torch.randn(24, 32),)


@case
def double() -> Case:
    """A sum in float64 between layers of float32."""

    def run(layers: Any, x: torch.Tensor) -> Any:
        h = layers.first(x).double()
        total = (h * 1e-9 + 1.0).sum(1) - 32.0
        return layers.last((h * total[:, None] * 1e9).float()), total

    return Net(run, **linears()), (torch.randn(24, 32),)


@case
def int64_values() -> Case:
    """int64 inputs and outputs, with values beyond 32 bits."""

    def run(layers: Any, x: torch.Tensor, n: torch.Tensor) -> Any:
        best = layers.first(x).argmax(1)
        large = n * 3_000_000_000 + best
        return layers.last(x) + (large % 7)[:, None], large, best

    return Net(run, **linears()), (torch.randn(24, 32), torch.arange(24))


@case
def outputs_viewing_inputs() -> Case:
    """Two outputs are views of the input."""

    def run(layers: Any, x: torch.Tensor) -> Any:
        return x[1:].t(), layers.last(layers.first(x)), x.view(4, -1)

    return Net(run, **linears()), (torch.randn(24, 32),)


@case
def bfloat16() -> Case:
    """The device computes in float32 and returns bfloat16."""

    def run(layers: Any, x: torch.Tensor) -> Any:
        h = layers.first(x)
        return layers.last(h[torch.nonzero(x[:, 0] > 0).squeeze(1)]).sum(0), h

    return Net(run, **linears()).bfloat16(), (torch.randn(24, 32).bfloat16(),)


@case
def strided() -> Case:
    """The rest of the network depends on torch's layout of the device's result."""

    def run(layers: Any, x: torch.Tensor) -> Any:
        h = layers.last(layers.first(x)).t()
        return torch.as_strided(h, (4, 3), (32, 1)) * torch.nonzero(x[:, 0] > 0).sum(), h

    return Net(run, **linears()), (torch.randn(24, 32),)


def make_network(name: str) -> Case:
    """A network in eval mode, and its arguments; deterministic."""
    torch.manual_seed(0)
    module, args = CASES[name]()
    return module.eval().requires_grad_(False), args
