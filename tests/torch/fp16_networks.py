"""Small networks that plain fp16 computes wrongly, for the comparison of --fp16 with PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_WIDTH = 64


class Layer(nn.Module):  # type: ignore[misc]
    """A function of a linear layer's results, which are of the given size."""

    def __init__(self, function: Callable[..., Tensor], scale: float = 1.0) -> None:
        super().__init__()
        self.linear = nn.Linear(_WIDTH, _WIDTH, bias=False)
        nn.init.orthogonal_(self.linear.weight)
        self.linear.weight.data *= scale
        self.function = function

    def forward(self, x: Tensor, *others: Tensor) -> Tensor:
        return self.function(self.linear(x), *others)


class Rounded(nn.Module):  # type: ignore[misc]
    """A function of a layer that only rounds: for functions that magnify errors."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.linear = nn.Linear(_WIDTH, _WIDTH, bias=False)
        nn.init.eye_(self.linear.weight)
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.linear(x))


def angles(positions: Tensor, width: int) -> Tensor:
    """RoPE angles as transformers computes them: a product of rank 1."""
    steps = 10000 ** (-torch.arange(0, width, 2).float() / width)
    return (steps[None, :, None] @ positions[:, None, :].float()).transpose(1, 2)


def rotary(x: Tensor, positions: Tensor) -> Tensor:
    """RoPE, decomposed."""
    table = torch.cat([angles(positions, x.shape[-1])] * 2, -1)
    left, right = x.chunk(2, -1)
    cos, sin = table.cos().to(x.dtype), table.sin().to(x.dtype)
    return x * cos + torch.cat([-right, left], -1) * sin


def attention(x: Tensor, hidden: Tensor) -> Tensor:
    """Attention with a boolean mask."""
    lowest = float(torch.finfo(x.dtype).min)
    scores = (x @ x.transpose(-1, -2) / 8).masked_fill(hidden, lowest)
    return F.softmax(scores, -1) @ x


def additive(x: Tensor, visible: Tensor) -> Tensor:
    """Attention with an additive mask of an int64 input, as in BERT."""
    bias = (1 - visible[:, None].to(x.dtype)) * torch.finfo(x.dtype).min
    scores = x @ x.transpose(-1, -2) / 8 + bias
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return weights / weights.sum(-1, keepdim=True) @ x


def one_pass_norm(x: Tensor) -> Tensor:
    """Layer normalization by E[x²] − E[x]²."""
    mean = x.mean(-1, keepdim=True)
    variance = (x * x).mean(-1, keepdim=True) - mean * mean
    return (x - mean) * torch.rsqrt(variance + 1e-6)


def divergence(x: Tensor) -> Tensor:
    """KL divergence between the rows."""
    p = x.softmax(-1)
    return (p * (p.log() - p.flip(0).log())).sum(-1)


class LogMel(nn.Module):  # type: ignore[misc]
    """The front end of speech models: STFT by convolution, mel filters, logarithm."""

    def __init__(self, size: int = 64, mels: int = 16) -> None:
        super().__init__()
        n, k = torch.arange(size), torch.arange(size // 2)[:, None]
        window = torch.hann_window(size)
        waves = [f(2 * math.pi * k * n / size) * window for f in (torch.cos, torch.sin)]
        self.register_buffer("waves", torch.cat(waves)[:, None])
        self.register_buffer("mel", torch.rand(mels, size // 2).pow(4))

    def forward(self, audio: Tensor) -> Tensor:
        real, imaginary = F.conv1d(audio, self.waves, stride=16).chunk(2, 1)
        power = self.mel @ (real * real + imaginary * imaginary)
        logs = power.clamp(min=1e-10).log10()
        return (torch.maximum(logs, logs.amax() - 8) + 4) / 4


class Decoder(nn.Module):  # type: ignore[misc]
    """transformers' Llama with position_ids as an input."""

    def __init__(self) -> None:
        from transformers import LlamaConfig, LlamaForCausalLM

        super().__init__()
        self.model = LlamaForCausalLM(LlamaConfig(
            vocab_size=50, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2,
        ))  # fmt: skip

    def forward(self, hidden: Tensor, positions: Tensor) -> Tensor:
        found = self.model(inputs_embeds=hidden, position_ids=positions, use_cache=False)
        return found.logits  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Case:
    """A network with its inputs. `ranges`: bounds of int64 inputs."""

    module: Callable[[], nn.Module]
    inputs: tuple[Any, ...]
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def _layer(function: Callable[..., Tensor], scale: float = 1.0, zero_row: bool = False) -> Case:
    x = _random(8, 64)
    x[3] *= not zero_row
    return Case(lambda: Layer(function, scale), (x,))


_POSITIONS = torch.arange(4000, 4008)[None]
_HIDDEN = torch.ones(8, 8, dtype=torch.bool).triu(1)
_HIDDEN[2] = True
_VISIBLE = torch.tensor([[0] * 8, [1] * 5 + [0] * 3])

CASES = {
    "rotary embedding at position 4000": Case(
        lambda: Layer(rotary, 3.0), (_random(1, 8, 64), _POSITIONS), {"others_0": (0, 8191)}
    ),
    "a fully masked row": Case(lambda: Layer(attention), (_random(8, 64), _HIDDEN)),
    "an additive mask of integers": Case(
        lambda: Layer(additive), (_random(2, 8, 64), _VISIBLE), {"others_0": (0, 1)}
    ),
    "F.normalize of zeros": _layer(lambda x: F.normalize(x, dim=-1), zero_row=True),
    "x / (|x|.sum() + 1e-8) at 0": _layer(
        lambda x: x / (x.abs().sum(-1, keepdim=True) + 1e-8), zero_row=True
    ),
    "x / (|x| + 1e-12) at 0": Case(
        lambda: Rounded(lambda x: x / (x.abs() + 1e-12)), (_random(8, 64).relu(),)
    ),
    "x / (x·x).sum().sqrt() at 60": _layer(
        lambda x: x / (x * x).sum(-1, keepdim=True).sqrt(), 60.0
    ),
    "x / (mean(x²).sqrt() + eps) at 300": _layer(
        lambda x: x / (x.pow(2).mean(-1, keepdim=True).sqrt() + 1e-6), 300.0
    ),
    "log(exp(x).sum()) at 12": _layer(lambda x: x.exp().sum(-1).log(), 6.0),
    "layer norm by E[x²] − E[x]²": _layer(lambda x: one_pass_norm(x + 20)),
    "layer norm by E[x²] − E[x]² at 300": _layer(one_pass_norm, 300.0),
    "log(clamp(softmax(x), 1e-9))": _layer(lambda x: x.softmax(-1).clamp(min=1e-9).log(), 12.0),
    "log(x + 1e-10)": Case(lambda: Rounded(lambda x: (x.relu() + 1e-10).log()), (_random(8, 64),)),
    "KL divergence": _layer(divergence, 8.0),
    "cumulative sum of 512 values": Case(
        lambda: Layer(lambda x: x.abs().reshape(1, -1).cumsum(-1), 50.0), (_random(8, 64),)
    ),
    "decoder at position 4000": Case(
        Decoder, (_random(1, 8, 64) * 0.1, _POSITIONS), {"positions": (0, 8191)}
    ),
    "log-mel of audio": Case(LogMel, (_random(1, 1, 1024) * 20,)),
}
