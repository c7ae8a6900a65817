"""PyTorch networks with symbolic batch, length or height, exported as usual."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from tests.onnx_export import export_traced

WIDTH, HEADS, LONGEST = 24, 3, 40


class Attention(nn.Module):  # type: ignore[misc]
    """Self-attention with a causal mask and views with computed sizes, as in language models."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.tril(torch.ones(LONGEST, LONGEST, dtype=torch.bool)))

    def forward(self, x: Any) -> Any:
        n, length, width = x.size()
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (t.view(n, length, HEADS, width // HEADS).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) * (width // HEADS) ** -0.5
        scores = scores.masked_fill(~self.mask[:length, :length], -1e4)
        y = torch.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).contiguous().view(n, length, width))


class Language(nn.Module):  # type: ignore[misc]
    """Tokens and positions, two layers, logits."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, WIDTH)
        self.positions = nn.Embedding(LONGEST, WIDTH)
        self.register_buffer("ids", torch.arange(LONGEST)[None])
        self.attention = nn.ModuleList(Attention() for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.head = nn.Linear(WIDTH, 7)

    def forward(self, tokens: Any) -> Any:
        x = self.tokens(tokens) + self.positions(self.ids[:, : tokens.size(1)])
        for attention, norm in zip(self.attention, self.norms, strict=True):
            x = x + attention(norm(x))
        return self.head(x)


def convolutional() -> nn.Module:
    """A small image network with a residual branch, pooling and a classifier."""

    class Residual(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8), nn.ReLU(),
                nn.Conv2d(8, 8, 1),
            )  # fmt: skip

        def forward(self, x: Any) -> Any:
            return torch.relu(x + self.body(x))

    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), Residual(), nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5),
    )  # fmt: skip


def export(network: nn.Module, example: Any, axes: dict[int, str], path: Path) -> Path:
    """The network as an ONNX file with the input x and the output y."""
    export_traced(
        network.eval(), (example,), path, opset_version=16, input_names=["x"],
        output_names=["y"], dynamic_axes={"x": axes},
    )  # fmt: skip
    return path


def export_language(path: Path) -> Path:
    """Tokens of [batch, seq]."""
    torch.manual_seed(1)
    return export(Language(), torch.zeros(2, 5, dtype=torch.int32), {0: "batch", 1: "seq"}, path)


def export_convolutional(path: Path) -> Path:
    """Images of [batch, 3, height, 16]."""
    torch.manual_seed(2)
    axes = {0: "batch", 2: "height"}
    return export(convolutional(), torch.zeros(2, 3, 16, 16), axes, path)
