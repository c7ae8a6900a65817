"""Small networks of the families that people run, of torch.nn only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):  # type: ignore[misc]
    """x + body(x)"""

    def __init__(self, *body: nn.Module) -> None:
        super().__init__()
        self.body = nn.Sequential(*body)

    def forward(self, x: Any) -> Any:
        return x + self.body(x)


class SqueezeExcitation(nn.Module):  # type: ignore[misc]
    """x scaled per channel by a function of its means."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, 4, 1), nn.ReLU(),
            nn.Conv2d(4, channels, 1), nn.Hardsigmoid(),
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        return x * self.gate(x)


class ChannelsLast(nn.Module):  # type: ignore[misc]
    """A module of the channels of images."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Any) -> Any:
        return self.body(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def head(channels: int) -> list[nn.Module]:
    """A classifier of 5 classes."""
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(channels, 5)]


def normalized(inputs: int, outputs: int, size: int, *more: nn.Module, **options: Any) -> list[Any]:
    """A convolution with batch normalization."""
    convolution = nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False, **options)
    return [convolution, nn.BatchNorm2d(outputs), *more]


def resnet() -> nn.Module:
    block = [*normalized(8, 8, 3, nn.ReLU(inplace=True)), *normalized(8, 8, 3)]
    return nn.Sequential(
        *normalized(3, 8, 7, nn.ReLU(inplace=True), stride=2), nn.MaxPool2d(3, 2, 1),
        Residual(*block), nn.ReLU(inplace=True), *head(8),
    )  # fmt: skip


def mobilenet() -> nn.Module:
    block = [
        *normalized(8, 16, 1, nn.Hardswish()), *normalized(16, 16, 5, nn.ReLU6(), groups=16),
        SqueezeExcitation(16), *normalized(16, 8, 1),
    ]  # fmt: skip
    return nn.Sequential(*normalized(3, 8, 3, nn.SiLU(), stride=2), Residual(*block), *head(8))


def squeezenet() -> nn.Module:
    class Fire(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.squeeze, self.one = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 4, 1)
            self.three = nn.Conv2d(4, 4, 3, padding=1)

        def forward(self, x: Any) -> Any:
            x = F.relu(self.squeeze(x))
            return torch.cat([F.relu(self.one(x)), F.relu(self.three(x))], 1)

    pool = nn.MaxPool2d(3, 2, ceil_mode=True)
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), pool, Fire(), *head(8))


def convnext() -> nn.Module:
    mlp = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))
    block = Residual(nn.Conv2d(8, 8, 7, padding=3, groups=8), ChannelsLast(mlp))
    return nn.Sequential(nn.Conv2d(3, 8, 4, 4), ChannelsLast(nn.LayerNorm(8)), block, *head(8))


def unet() -> nn.Module:
    class UNet(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.start, self.end = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(16, 3, 3, padding=1)
            self.norm, self.time = nn.GroupNorm(2, 8), nn.Linear(8, 8)
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
            self.down = nn.Conv2d(8, 8, 3, stride=2, padding=1)

        def forward(self, x: Any) -> Any:
            steps = torch.arange(4, device=x.device) * 7
            angles = steps[:1].float() * torch.exp(-torch.arange(4, device=x.device) / 4)
            embedding = torch.cat([angles.sin(), angles.cos()]).to(x.dtype)
            x = self.start(x) + self.time(embedding)[None, :, None, None]
            y = F.silu(self.norm(self.down(x)))
            tokens = y.flatten(2).mT
            y = y + self.attention(tokens, tokens, tokens)[0].mT.reshape(y.shape)
            return self.end(torch.cat([x, F.interpolate(y, scale_factor=2)], 1))

    return UNet()


class Block(nn.Module):  # type: ignore[misc]
    """A transformer layer, with a causal mask or without."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.first, self.second = nn.LayerNorm(16), nn.LayerNorm(16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(approximate="tanh"), nn.Linear(32, 16))

    def forward(self, x: Any) -> Any:
        n, length, _ = x.shape
        q, k, v = self.qkv(self.first(x)).view(n, length, 3, 4, 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(y.transpose(1, 2).reshape(n, length, 16))
        return x + self.mlp(self.second(x))


def vit() -> nn.Module:
    class ViT(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 16, 8, 8)
            self.token = nn.Parameter(torch.randn(1, 1, 16))
            self.position = nn.Parameter(torch.randn(1, 17, 16))
            self.blocks, self.head = nn.Sequential(Block(False), Block(False)), nn.Linear(16, 5)

        def forward(self, x: Any) -> Any:
            x = self.patches(x).flatten(2).mT
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
            return self.head(self.blocks(x)[:, 0])

    return ViT()


def encoder() -> nn.Module:
    class Encoder(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            layer = nn.TransformerEncoderLayer(16, 2, 32, 0.1, batch_first=True)
            self.words = nn.Embedding(50, 16, 0)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

        def forward(self, ids: Any) -> Any:
            return self.layers(self.words(ids), src_key_padding_mask=ids == 0)

    return Encoder()


def gpt() -> nn.Module:
    class Gpt(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(50, 16), nn.Embedding(20, 16)
            self.blocks, self.norm = nn.Sequential(Block(True), Block(True)), nn.LayerNorm(16)
            self.head = nn.Linear(16, 50, bias=False)
            self.head.weight = self.words.weight

        def forward(self, ids: Any) -> Any:
            places = torch.arange(ids.shape[1], device=ids.device) + 2
            return self.head(self.norm(self.blocks(self.words(ids) + self.places(places))))

    return Gpt()


def llama() -> nn.Module:
    class Llama(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.norm = nn.Embedding(50, 16), nn.RMSNorm(16, 1e-5)
            self.q, self.kv = nn.Linear(16, 16, bias=False), nn.Linear(16, 16, bias=False)
            self.gate, self.up = nn.Linear(16, 32, bias=False), nn.Linear(16, 32, bias=False)
            self.down, self.head = nn.Linear(32, 16, bias=False), nn.Linear(16, 50, bias=False)

        def forward(self, ids: Any) -> Any:
            n, length = ids.shape
            x = self.words(ids)
            y = self.norm(x)
            places = (ids != 0).long().cumsum(1) - 1
            angles = places[:, None, :, None].float() * torch.tensor([1.0, 0.1], device=ids.device)
            cos, sin = (f(torch.cat([angles] * 2, -1)).to(x.dtype) for f in (torch.cos, torch.sin))

            def rotated(x: Any) -> Any:
                low, high = x.chunk(2, -1)
                return x * cos + torch.cat([-high, low], -1) * sin

            q = rotated(self.q(y).view(n, length, 4, 4).transpose(1, 2))
            k, v = self.kv(y).view(n, length, 2, 2, 4).permute(2, 0, 3, 1, 4)
            k, v = (each.repeat_interleave(2, 1) for each in (rotated(k), v))
            index = torch.arange(length, device=ids.device)
            mask = (index[None] <= index[:, None]) & (ids != 0)[:, None, None]
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask | (index == 0))
            x = x + y.transpose(1, 2).reshape(x.shape)
            return self.head(x + self.down(F.silu(self.gate(x)) * self.up(x)))

    return Llama()


Networks = dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]]

# The modules with the shapes of their inputs: images, or ids of 50 words.
IMAGES: Networks = {
    "resnet": (resnet, (2, 3, 32, 32)),
    "mobilenet": (mobilenet, (2, 3, 32, 32)),
    "squeezenet": (squeezenet, (2, 3, 32, 32)),
    "convnext": (convnext, (2, 3, 32, 32)),
    "vit": (vit, (2, 3, 32, 32)),
    "unet": (unet, (2, 3, 16, 16)),
}
TEXTS: Networks = {"encoder": (encoder, (2, 7)), "gpt": (gpt, (2, 7)), "llama": (llama, (2, 7))}


def example(name: str) -> tuple[nn.Module, Any]:
    """A module in evaluation mode, and an input of it. The first and the last id of a text are 0
    and 49.
    """
    torch.manual_seed(0)
    make, shape = (IMAGES | TEXTS)[name]
    module = make().eval()
    if name in IMAGES:
        return module, torch.randn(shape)
    ids = torch.randint(1, 49, shape)
    ids[0, -2:], ids[1, 0] = 0, 49
    return module, ids
