"""PyTorch modules, each with the pattern of one optimization pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


class Parallel(nn.Module):  # type: ignore[misc]
    """Several modules over one input, with concatenated outputs."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Any) -> Any:
        return tuple(branch(x) for branch in self.branches)


class Calls(nn.Module):  # type: ignore[misc]
    """A function as a module."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


class AddsAfter(nn.Module):  # type: ignore[misc]
    """A layer without bias, followed by a constant per channel."""

    def __init__(self, layer: nn.Module, shape: Sequence[int]) -> None:
        super().__init__()
        self.layer = layer
        self.bias = nn.Parameter(torch.randn(*shape))

    def forward(self, x: Any) -> Any:
        return self.layer(x) + self.bias


class Residual(nn.Module):  # type: ignore[misc]
    """The sum of the results of two modules for one input."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first = first
        self.second = second

    def forward(self, x: Any) -> Any:
        return self.first(x) + self.second(x)


def recurrence(x: Any) -> Any:
    """The states of an unrolled linear recurrence."""
    factors, state, states = x.sigmoid(), x[:, :, 0], []
    for t in range(1, x.shape[2]):
        state = x[:, :, t] + state * factors[:, :, t]
        states.append(state)
    return torch.stack(states, 3)


def products_of_slices(x: Any) -> Any:
    """A product for each slice of two dimensions."""
    found = [x[:, :, t].relu() @ x[:, t].transpose(1, 2) for t in range(x.shape[1])]
    return torch.stack(found, 2)


ACTIVATIONS = (
    nn.ReLU(),
    nn.ReLU6(),
    nn.Hardtanh(-0.5, 0.25),
    nn.Hardswish(),
    nn.Hardsigmoid(),
    nn.Sigmoid(),
    nn.SiLU(),
    nn.Tanh(),
    nn.LeakyReLU(0.2),
    nn.GELU(),
)


def activated(layer: Callable[[], nn.Module]) -> nn.Module:
    return Parallel(*(nn.Sequential(layer(), activation) for activation in ACTIVATIONS))


def normalized(layer: nn.Module) -> nn.Module:
    """The layer and a batch norm with non-trivial statistics."""
    norm = nn.BatchNorm2d(layer.weight.shape[0])
    norm.weight.data.uniform_(0.5, 1.5)
    norm.bias.data.normal_()
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2)
    return nn.Sequential(layer, norm)


def rearranged(x: Any) -> Any:
    y = x.permute(0, 2, 3, 1).flatten(2).unsqueeze(1)
    return y.relu().squeeze(1).flatten(1)


def heads(x: Any) -> Any:
    """Parts of a layer's result, by heads. The second is transposed."""
    first, second = x.reshape(2, 9, 2, 2, 12).unbind(2)
    return first.permute(0, 2, 1, 3), second.permute(0, 2, 3, 1)


ANGLES = torch.arange(7.0)[:, None] * torch.tensor([1.0, 0.1, 1.0, 0.1])
COSINES, SINES = ANGLES.cos(), ANGLES.sin()


def rotated(x: Any) -> Any:
    """A rotary embedding whose pairs are column i and column i + 2."""
    return x * COSINES + torch.cat((-x[..., 2:], x[..., :2]), -1) * SINES


def rotated_pairs(x: Any) -> Any:
    """A rotary embedding with interleaved pairs and computed angles."""
    angles = x[:, :1, :, :2].tanh()
    cos, sin = angles.cos(), angles.sin()
    first, second = x.reshape(*x.shape[:-1], 2, 2).unbind(-1)
    pairs = first * cos - second * sin, second * cos + first * sin
    return torch.stack(pairs, -1).flatten(-2)


def unit_mean_square(x: Any) -> Any:
    """RMS normalization in the form of fp16 models, without a weight."""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3)


def unit_norm(x: Any) -> Any:
    """L2 normalization that expands the norm, and a sum of two expanded tensors."""
    y = x / x.square().sum(-1, keepdim=True).sqrt().clamp(1e-3).expand_as(x)
    return y, x[:, :, :1].expand_as(x) + x[:, :1].expand_as(x)


def tanh_gelu(x: Any) -> Any:
    return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x.pow(3))))


class Attention(nn.Module):  # type: ignore[misc]
    """Decomposed attention: the scale before or after the product, with or without a mask. With
    weights that are read again, it is not fused.
    """

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.mask = nn.Parameter(torch.randn(1, 2, 7, 7))

    def forward(self, x: Any) -> Any:
        q, k, v = self.qkv(x).reshape(2, 7, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        before = ((q * 0.5) @ k.transpose(-2, -1)).softmax(-1) @ v
        behind = (q @ k.transpose(-2, -1) / 3 + self.mask).softmax(-1) @ v
        lists = q.reshape(4, 7, 4), k.reshape(4, 7, 4), v.reshape(4, 7, 4)
        scores = torch.bmm(lists[0], lists[1].transpose(1, 2)).view(2, 2, 7, 7) + self.mask[:, :1]
        viewed = torch.bmm(scores.softmax(-1).view(4, 7, 7), lists[2])
        weights = (k @ q.transpose(-2, -1)).softmax(-1)
        return before, behind, viewed, weights @ v, weights @ k


class Geglu(nn.Module):  # type: ignore[misc]
    """A gated activation of the halves of a layer's columns."""

    def __init__(self) -> None:
        super().__init__()
        self.projection = nn.Linear(12, 48)

    def forward(self, x: Any) -> Any:
        value, gate = self.projection(x).chunk(2, -1)
        return value * nn.functional.gelu(gate)


class Heads(nn.Module):  # type: ignore[misc]
    """Attention among projections: a packed one (batch first and sequence first), and separate
    ones. One variant has another reader of the heads.
    """

    def __init__(self) -> None:
        super().__init__()
        self.packed, self.projection = nn.Linear(16, 48), nn.Linear(16, 16)
        self.each = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        return ((q @ k.transpose(-2, -1)) / 8**0.5).softmax(-1) @ v

    def forward(self, x: Any) -> Any:
        split = self.packed(x).reshape(2, 7, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        together = self.projection(self.attend(*split).transpose(1, 2).reshape(2, 7, 16))
        parts = self.packed(x.transpose(0, 1)).chunk(3, -1)
        lists = (t.reshape(7, 4, 8).transpose(0, 1) for t in parts)
        rows = self.projection(self.attend(*lists).transpose(0, 1).reshape(14, 16)).view(7, 2, 16)
        parts = [each(x).view(2, 7, 2, 8).transpose(1, 2) for each in self.each]
        apart = self.projection(self.attend(*parts).transpose(1, 2).reshape(2, 7, 16))
        return together, rows.transpose(0, 1), apart, parts[0].sigmoid()


class RowsFirst(Heads):
    """Attention among projections of [row, batch, column] in a batch-first model."""

    def forward(self, x: Any) -> Any:
        parts = self.packed(x.transpose(0, 1)).chunk(3, -1)
        lists = (t.reshape(7, 4, 8).transpose(0, 1) for t in parts)
        rows = self.attend(*lists).transpose(0, 1).reshape(14, 16)
        return (self.projection(rows).view(7, 2, 16).transpose(0, 1) + x,)


class RmsNorm(nn.Module):  # type: ignore[misc]
    """RMS normalization over the last dimensions."""

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(*shape))
        self.dims = tuple(range(-len(shape), 0))

    def forward(self, x: Any) -> Any:
        return x / torch.sqrt((x * x).mean(self.dims, keepdim=True) + 1e-3) * self.weight


def channels_last(function: Callable[[Any], Any]) -> nn.Module:
    """The function between two layers, with channels in the last dimension."""
    between = Calls(lambda x: function(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2))
    return nn.Sequential(nn.Conv2d(6, 5, 3), between, nn.Conv2d(5, 6, 1))


@dataclass(frozen=True, slots=True)
class Case:
    """`fused` is an op that the pass adds, `plain` one that it removes."""

    skipped: str
    module: Callable[[], nn.Module]
    plain: str
    fused: str | None = None
    shape: tuple[int, ...] = (2, 6, 7, 5)


CASES = {
    "conv_activation": Case(
        "fuse-activations", lambda: activated(lambda: nn.Conv2d(6, 5, 3, padding=1)), "aten.tanh"
    ),
    "pointwise_activation": Case(
        "fuse-activations", lambda: activated(lambda: nn.Conv2d(6, 9, 1)), "aten.tanh"
    ),
    "depthwise_activation": Case(
        "fuse-activations", lambda: activated(lambda: nn.Conv2d(6, 6, 3, groups=6)), "aten.tanh"
    ),
    "linear_activation": Case(
        "fuse-activations", lambda: activated(lambda: nn.Linear(10, 7)), "aten.tanh", shape=(6, 10)
    ),
    "add_activation": Case(
        "fuse-activations",
        lambda: activated(lambda: AddsAfter(nn.Identity(), (6, 1, 1))),
        "aten.tanh",
    ),
    "bias": Case(
        "fuse-bias",
        lambda: Parallel(
            AddsAfter(nn.Conv2d(6, 5, 3, bias=False), (5, 1, 1)),
            AddsAfter(nn.Linear(5, 9, bias=False), (9,)),
        ),
        "aten.add.Tensor",
    ),
    "residual": Case(
        "fuse-residuals",
        lambda: Parallel(
            Residual(nn.Conv2d(6, 6, 3, padding=1), nn.Identity()),
            Residual(nn.Identity(), nn.Conv2d(6, 6, 3, padding=1, groups=6)),
            nn.Sequential(Residual(nn.Conv2d(6, 8, 1), nn.Conv2d(6, 8, 3, padding=1)), nn.ReLU6()),
            Residual(nn.Conv2d(6, 8, 3, stride=2), nn.Conv2d(6, 8, 3, stride=2, groups=2)),
            Residual(nn.Conv2d(6, 1, 1), nn.Identity()),
        ),
        "aten.add.Tensor",
    ),
    "residual_linear": Case(
        "fuse-residuals",
        lambda: Parallel(
            Residual(nn.Linear(12, 12), nn.Identity()), Residual(nn.Identity(), nn.Linear(12, 12))
        ),
        "aten.add.Tensor",
        shape=(3, 9, 12),
    ),
    "residual_viewed": Case(
        "fuse-residuals",
        lambda: Residual(
            nn.Identity(),
            nn.Sequential(
                Calls(lambda x: x.reshape(27, 12)),
                nn.Linear(12, 12),
                Calls(lambda x: x.reshape(3, 9, 12)),
            ),
        ),
        "aten.add.Tensor",
        shape=(3, 9, 12),
    ),
    "chain": Case(
        "fuse-elementwise",
        lambda: Parallel(
            Calls(lambda x: 2 / (1 + torch.exp(-x * 0.5).sqrt())),
            Calls(lambda x: torch.maximum(3 - x, x.mean((2, 3), keepdim=True)).abs().log()),
            Calls(lambda x: ((x + x[:, :1, :1] - x[:1]) * x).tanh().neg().exp()),
        ),
        "aten.mul.Tensor",
        "spirloom.fused_elementwise",
    ),
    "recurrence": Case(
        "fuse-recurrences",
        lambda: Calls(recurrence),
        "aten.mul.Tensor",
        "spirloom.linear_recurrence",
    ),
    "stack": Case("batch-stacks", lambda: Calls(products_of_slices), "aten.cat"),
    "batch_norm": Case(
        "fold-batch-norm",
        lambda: Parallel(
            normalized(nn.Conv2d(6, 8, 3, stride=2)),
            normalized(nn.Conv2d(6, 5, 1, bias=False)),
            normalized(nn.Conv2d(6, 6, 3, groups=6)),
        ),
        "aten._native_batch_norm_legit_no_training",
    ),
    "silu": Case("fuse-patterns", nn.SiLU, "aten.sigmoid", "aten.silu"),
    "hardswish": Case(
        "fuse-patterns",
        lambda: Calls(lambda x: x * nn.functional.relu6(x + 3) / 6),
        "aten.div.Tensor",
        "aten.hardswish",
    ),
    "hardsigmoid": Case(
        "fuse-patterns",
        lambda: Calls(lambda x: nn.functional.relu6(x + 3) / 6),
        "aten.div.Tensor",
        "aten.hardsigmoid",
    ),
    "mish": Case(
        "fuse-patterns",
        lambda: Calls(lambda x: x * nn.functional.softplus(x).tanh()),
        "aten.tanh",
        "aten.mish",
    ),
    "gelu": Case("fuse-gelu", nn.GELU, "aten.erf", "aten.gelu"),
    "gelu_tanh": Case("fuse-gelu", lambda: Calls(tanh_gelu), "aten.tanh", "aten.gelu"),
    "layer_norm": Case(
        "fuse-layer-norm",
        lambda: Parallel(nn.LayerNorm(5), nn.LayerNorm((7, 5), eps=1e-3), nn.LayerNorm((6, 7, 5))),
        "aten.mean.dim",
        "aten.native_layer_norm",
    ),
    "rms_norm": Case(
        "fuse-rms-norm",
        lambda: Parallel(RmsNorm((5,)), RmsNorm((7, 5)), Calls(unit_mean_square)),
        "aten.mean.dim",
        "aten.rms_norm",
    ),
    "padding": Case(
        "absorb-padding",
        lambda: Parallel(
            nn.Sequential(nn.ZeroPad2d((1, 1, 2, 2)), nn.Conv2d(6, 4, 3, padding=1)),
            nn.Sequential(nn.ZeroPad2d(1), nn.AvgPool2d(3, stride=2)),
        ),
        "aten.constant_pad_nd",
    ),
    "expansions": Case(
        "absorb-expansions",
        lambda: Calls(unit_norm),
        "aten.expand",
    ),
    "rotary": Case(
        "fuse-rotary",
        lambda: Calls(rotated),
        "aten.cat",
        "spirloom.rotary_embedding",
        shape=(2, 3, 7, 4),
    ),
    "rotary_pairs": Case(
        "fuse-rotary",
        lambda: Calls(rotated_pairs),
        "aten.cat",
        "spirloom.rotary_embedding",
        shape=(2, 3, 7, 4),
    ),
    "attention": Case(
        "fuse-attention",
        Attention,
        "aten._softmax",
        "aten.scaled_dot_product_attention",
        shape=(2, 7, 8),
    ),
    "swiglu": Case(
        "fuse-gated-activations",
        lambda: Calls(lambda x: nn.functional.silu(x) * x.tanh()),
        "aten.silu",
        "spirloom.swiglu",
    ),
    "softsign": Case(
        "fuse-gated-activations", lambda: Calls(lambda x: x / (1 + x.abs())), "aten.abs"
    ),
    "permutations": Case(
        "move-permutations",
        lambda: Parallel(
            channels_last(lambda x: x.sigmoid() * 2), channels_last(lambda x: (x.exp() + x).relu())
        ),
        "aten.permute",
    ),
    "copies": Case(
        "fold-copies", lambda: Calls(heads), "aten.permute", "aten.as_strided", shape=(2, 9, 48)
    ),
    "heads": Case(
        "stride-attention",
        Heads,
        "aten.scaled_dot_product_attention",
        "spirloom.strided_attention",
        shape=(2, 7, 16),
    ),
    "projections": Case("merge-linear-layers", Heads, "aten.linear", shape=(2, 7, 16)),
    "gated_halves": Case("split-linear-layers", Geglu, "aten.slice.Tensor", shape=(2, 7, 12)),
    "norm_activation": Case(
        "fuse-activations",
        lambda: nn.Sequential(nn.InstanceNorm2d(6, affine=True), nn.ReLU()),
        "aten.relu",
    ),
    "rows": Case("move-row-permutations", RowsFirst, "aten.permute", shape=(2, 7, 16)),
    "views": Case("simplify-views", lambda: Calls(rearranged), "aten.view"),
}
