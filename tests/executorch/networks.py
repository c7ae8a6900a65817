"""Five small networks: two CNNs, two transformers, one that is not completely delegated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from tests.executorch.operators import RmsNorm


class Residual(nn.Module):  # type: ignore[misc]
    """Like torchvision's resnet18: convolutions with batch norm and residual connections."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = _conv(3, 8, stride=2)
        self.first, self.second = _conv(8, 8), _conv(8, 8)
        self.down, self.wide = nn.Conv2d(8, 16, 1, stride=2, bias=False), _conv(8, 16, stride=2)
        self.last = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)
        x = F.relu(x + self.second(F.relu(self.first(x))))
        x = F.relu(self.wide(x) + self.down(x))
        return self.last(x.mean([2, 3], keepdim=True).flatten(1))


class Inverted(nn.Module):  # type: ignore[misc]
    """Like mobilenet_v3: depthwise convolutions, hard activations, squeeze-and-excitation."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = _conv(3, 8, stride=2)
        self.expand, self.wise = _conv(8, 24, size=1), _conv(24, 24, groups=24)
        self.squeeze, self.excite = nn.Conv2d(24, 8, 1), nn.Conv2d(8, 24, 1)
        self.project = _conv(24, 8, size=1)
        self.last = nn.Conv2d(8, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.hardswish(self.stem(x))
        y = F.relu6(self.wise(F.hardswish(self.expand(x))))
        weights = self.excite(F.relu(self.squeeze(y.mean([2, 3], keepdim=True))))
        return torch.sigmoid(self.last(x + self.project(y * F.hardsigmoid(weights))))


class Encoder(nn.Module):  # type: ignore[misc]
    """A transformer encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.ModuleList(Attention(16, 4, causal=False) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(4))
        self.up = nn.ModuleList(nn.Linear(16, 32) for _ in range(2))
        self.down = nn.ModuleList(nn.Linear(32, 16) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i, attend in enumerate(self.attend):
            x = self.norms[2 * i](x + attend(x))
            x = self.norms[2 * i + 1](x + self.down[i](F.gelu(self.up[i](x), approximate="tanh")))
        return x


class Decoder(nn.Module):  # type: ignore[misc]
    """A language model: embedding, RMS norm, causal attention, gated FFN, logits."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(40, 16)
        self.attend = nn.ModuleList(Attention(16, 2, causal=True) for _ in range(2))
        self.norms = nn.ModuleList(RmsNorm(16) for _ in range(5))
        self.gate = nn.ModuleList(nn.Linear(16, 24, bias=False) for _ in range(2))
        self.up = nn.ModuleList(nn.Linear(16, 24, bias=False) for _ in range(2))
        self.down = nn.ModuleList(nn.Linear(24, 16, bias=False) for _ in range(2))
        self.logits = nn.Linear(16, 40, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.table(tokens)
        for i, attend in enumerate(self.attend):
            x = x + attend(self.norms[2 * i](x))
            y = self.norms[2 * i + 1](x)
            x = x + self.down[i](F.silu(self.gate[i](y)) * self.up[i](y))
        return self.logits(self.norms[4](x))


class Islands(nn.Module):  # type: ignore[misc]
    """ExecuTorch's kernels compute two cumulative sums between delegates."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(12, 8), nn.Linear(8, 6)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.cumsum(torch.sigmoid(self.first(x)), 1)
        z = torch.tanh(self.second(y))
        return z + torch.cumsum(torch.sigmoid(z), -1), y * 2.0


class Attention(nn.Module):  # type: ignore[misc]
    """Decomposed attention: ExecuTorch delegates only parts of PyTorch's attention operator."""

    mask: torch.Tensor

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.read, self.write = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("mask", torch.full((16, 16), -1e4).triu(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.read(x).split(width, -1)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        scores = (q @ k.transpose(2, 3)) * (width // self.heads) ** -0.5
        if self.causal:
            scores = scores + self.mask[:length, :length]
        y = torch.softmax(scores, -1) @ v
        return self.write(y.transpose(1, 2).reshape(batch, length, width))


def _conv(inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1) -> nn.Module:
    conv = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
    norm = nn.BatchNorm2d(outputs)
    norm.running_mean, norm.running_var = torch.randn(outputs) / 9, torch.rand(outputs) + 0.5
    return nn.Sequential(conv, norm)


@dataclass(frozen=True, slots=True)
class Network:
    """A network and its input for a size. It is exported with the first of `sizes`."""

    make: Callable[[], nn.Module]
    input_of: Callable[[int], torch.Tensor]
    sizes: tuple[int, ...]
    dims: dict[int, Dim]  # dynamic dims of the input
    delegates: int = 1
    dynamic_delegates: int = 1  # with dynamic shapes: ExecuTorch does not delegate expand_copy

    def dynamic_shapes(self) -> tuple[dict[int, Dim]]:
        return (self.dims,)


def _tokens(length: int) -> torch.Tensor:
    return torch.randint(0, 40, (1, length))


NETWORKS = {
    "residual": Network(
        Residual,
        lambda n: torch.randn(1, 3, 8 * n, 8 * n),
        (4, 2, 3),
        {2: 8 * Dim("h", min=2, max=5), 3: 8 * Dim("w", min=2, max=5)},
    ),
    "inverted": Network(
        Inverted,
        lambda n: torch.randn(1, 3, 2 * n, 2 * n),
        (9, 4, 12),
        {2: 2 * Dim("h", min=2, max=12), 3: 2 * Dim("w", min=2, max=12)},
    ),
    "encoder": Network(
        Encoder,
        lambda n: torch.randn(2, n, 16),
        (7, 3, 12),
        {1: Dim("length", min=2, max=12)},
        dynamic_delegates=5,
    ),
    "decoder": Network(
        Decoder, _tokens, (7, 3, 12), {1: Dim("length", min=2, max=12)}, dynamic_delegates=5
    ),
    "islands": Network(
        Islands,
        lambda n: torch.randn(n, 3, 12),
        (4, 2, 6),
        {0: Dim("batch", min=2, max=6)},
        delegates=3,
        dynamic_delegates=3,
    ),
}
