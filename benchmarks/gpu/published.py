"""Networks of Stable Diffusion 1.5 and CLIP as PyTorch modules, with random weights.

Requires PyTorch 2 only, so that it also runs outside the repository. The parameters of `Unet` and
`VaeDecoder` have the names and shapes of `diffusers`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

GROUPS = 32


class Resnet(nn.Module):  # type: ignore[misc]
    """Two convolutions with a skip connection; `time` is the size of the time embedding or 0."""

    def __init__(self, inner: int, outer: int, time: int, eps: float) -> None:
        super().__init__()
        self.norm1 = nn.GroupNorm(GROUPS, inner, eps)
        self.conv1 = nn.Conv2d(inner, outer, 3, padding=1)
        if time:
            self.time_emb_proj = nn.Linear(time, outer)
        self.norm2 = nn.GroupNorm(GROUPS, outer, eps)
        self.conv2 = nn.Conv2d(outer, outer, 3, padding=1)
        self.conv_shortcut = nn.Conv2d(inner, outer, 1) if inner != outer else None

    def forward(self, x: Tensor, time: Tensor | None = None) -> Tensor:
        y = self.conv1(functional.silu(self.norm1(x)))
        if time is not None:
            y = y + self.time_emb_proj(functional.silu(time))[:, :, None, None]
        y = self.conv2(functional.silu(self.norm2(y)))
        return (x if self.conv_shortcut is None else self.conv_shortcut(x)) + y


class Attention(nn.Module):  # type: ignore[misc]
    """Multi-head attention over a sequence, or from it to a `context` of another size."""

    def __init__(self, size: int, heads: int, context: int, bias: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(size, size, bias=bias)
        self.to_k = nn.Linear(context, size, bias=bias)
        self.to_v = nn.Linear(context, size, bias=bias)
        self.to_out = nn.ModuleList([nn.Linear(size, size)])

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        other = x if context is None else context
        query, key, value = (
            layer(each).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer, each in ((self.to_q, x), (self.to_k, other), (self.to_v, other))
        )
        y = functional.scaled_dot_product_attention(query, key, value)  # type: ignore[attr-defined]
        result: Tensor = self.to_out[0](y.transpose(1, 2).flatten(2))
        return result


class Geglu(nn.Module):  # type: ignore[misc]
    def __init__(self, size: int) -> None:
        super().__init__()
        self.proj = nn.Linear(size, 8 * size)

    def forward(self, x: Tensor) -> Tensor:
        value, gate = self.proj(x).chunk(2, -1)
        result: Tensor = value * functional.gelu(gate)
        return result


class FeedForward(nn.Module):  # type: ignore[misc]
    def __init__(self, size: int) -> None:
        super().__init__()
        self.net = nn.ModuleList([Geglu(size), nn.Identity(), nn.Linear(4 * size, size)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.net:
            x = layer(x)
        return x


class TransformerBlock(nn.Module):  # type: ignore[misc]
    def __init__(self, size: int, heads: int, context: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(size)
        self.attn1 = Attention(size, heads, size)
        self.norm2 = nn.LayerNorm(size)
        self.attn2 = Attention(size, heads, context)
        self.norm3 = nn.LayerNorm(size)
        self.ff = FeedForward(size)

    def forward(self, x: Tensor, context: Tensor) -> Tensor:
        x = x + self.attn1(self.norm1(x))
        x = x + self.attn2(self.norm2(x), context)
        result: Tensor = x + self.ff(self.norm3(x))
        return result


class SpatialTransformer(nn.Module):  # type: ignore[misc]
    """A transformer block over the pixels of an image."""

    def __init__(self, size: int, heads: int, context: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(GROUPS, size, 1e-6)
        self.proj_in = nn.Conv2d(size, size, 1)
        self.transformer_blocks = nn.ModuleList([TransformerBlock(size, heads, context)])
        self.proj_out = nn.Conv2d(size, size, 1)

    def forward(self, x: Tensor, context: Tensor) -> Tensor:
        y = self.proj_in(self.norm(x))
        rows = self.transformer_blocks[0](y.flatten(2).transpose(1, 2), context)
        result: Tensor = self.proj_out(rows.transpose(1, 2).reshape(y.shape)) + x
        return result


class Scale(nn.Module):  # type: ignore[misc]
    """Downsamples by a strided convolution, or upsamples by repetition and a convolution."""

    def __init__(self, size: int, up: bool) -> None:
        super().__init__()
        self.up = up
        self.conv = nn.Conv2d(size, size, 3, stride=1 if up else 2, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        if self.up:
            x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
        result: Tensor = self.conv(x)
        return result


class Level(nn.Module):  # type: ignore[misc]
    """The layers of one resolution; empty lists have no parameters."""

    def __init__(self, resnets: Sequence[nn.Module], attentions: Sequence[nn.Module],
                 scale: tuple[str, nn.Module] | None = None) -> None:  # fmt: skip
        super().__init__()
        self.resnets, self.attentions = nn.ModuleList(resnets), nn.ModuleList(attentions)
        self.scale = scale and scale[0]
        if scale is not None:
            setattr(self, scale[0], nn.ModuleList([scale[1]]))

    def layer(self, index: int, x: Tensor, time: Tensor, context: Tensor) -> Tensor:
        x = self.resnets[index](x, time)
        return self.attentions[index](x, context) if self.attentions else x

    def scaled(self, x: Tensor) -> Tensor:
        return getattr(self, self.scale)[0](x) if self.scale else x


class TimeEmbedding(nn.Module):  # type: ignore[misc]
    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.linear_1 = nn.Linear(size, 4 * size)
        self.linear_2 = nn.Linear(4 * size, 4 * size)

    def forward(self, timestep: Tensor) -> Tensor:
        half = self.size // 2
        exponent = torch.arange(half, dtype=torch.float32, device=timestep.device) / half
        angles = timestep.float()[:, None] * torch.exp(-math.log(10000.0) * exponent)
        waves = torch.cat([angles.cos(), angles.sin()], -1).to(self.linear_1.weight.dtype)
        result: Tensor = self.linear_2(functional.silu(self.linear_1(waves)))
        return result


class Unet(nn.Module):  # type: ignore[misc]
    """The denoising network; the last level has no attention."""

    def __init__(self, widths: Sequence[int] = (320, 640, 1280, 1280), heads: int = 8,
                 context: int = 768) -> None:  # fmt: skip
        super().__init__()
        first, last, time = widths[0], widths[-1], 4 * widths[0]

        def attentions(size: int, count: int, level: int) -> list[nn.Module]:
            count = 0 if level == len(widths) - 1 else count
            return [SpatialTransformer(size, heads, context) for _ in range(count)]

        def resnet(inner: int, outer: int) -> nn.Module:
            return Resnet(inner, outer, time, 1e-5)

        self.conv_in = nn.Conv2d(4, first, 3, padding=1)
        self.time_embedding = TimeEmbedding(first)
        down, skips, inner = [], [first], first
        for level, size in enumerate(widths):
            is_last = level == len(widths) - 1
            scale = None if is_last else ("downsamplers", Scale(size, up=False))
            down.append(Level([resnet(inner, size), resnet(size, size)],
                              attentions(size, 2, level), scale))  # fmt: skip
            skips += [size] * (2 if is_last else 3)
            inner = size
        self.down_blocks = nn.ModuleList(down)
        self.mid_block = Level([resnet(last, last) for _ in range(2)],
                               [SpatialTransformer(last, heads, context)])  # fmt: skip
        up = []
        for level, size in reversed(list(enumerate(widths))):
            resnets = []
            for _ in range(3):
                resnets.append(resnet(inner + skips.pop(), size))
                inner = size
            scale = None if level == 0 else ("upsamplers", Scale(size, up=True))
            up.append(Level(resnets, attentions(size, 3, level), scale))
        self.up_blocks = nn.ModuleList(up)
        self.conv_norm_out = nn.GroupNorm(GROUPS, first, 1e-5)
        self.conv_out = nn.Conv2d(first, 4, 3, padding=1)

    def forward(self, sample: Tensor, timestep: Tensor, context: Tensor) -> Tensor:
        time = self.time_embedding(timestep)
        x = self.conv_in(sample)
        skips = [x]
        for block in self.down_blocks:
            for index in range(len(block.resnets)):
                x = block.layer(index, x, time, context)
                skips.append(x)
            if block.scale:
                x = block.scaled(x)
                skips.append(x)
        middle = self.mid_block
        x = middle.attentions[0](middle.resnets[0](x, time), context)
        x = middle.resnets[1](x, time)
        for block in self.up_blocks:
            for index in range(len(block.resnets)):
                x = block.layer(index, torch.cat([x, skips.pop()], 1), time, context)
            x = block.scaled(x)
        result: Tensor = self.conv_out(functional.silu(self.conv_norm_out(x)))
        return result


class ImageAttention(Attention):
    """Attention of one head over the pixels of an image."""

    def __init__(self, size: int) -> None:
        super().__init__(size, 1, size, bias=True)
        self.group_norm = nn.GroupNorm(GROUPS, size, 1e-6)

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        rows = super().forward(self.group_norm(x).flatten(2).transpose(1, 2), context)
        result: Tensor = rows.transpose(1, 2).reshape(x.shape) + x
        return result


class Decoder(nn.Module):  # type: ignore[misc]
    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        last = widths[-1]

        def resnet(inner: int, outer: int) -> nn.Module:
            return Resnet(inner, outer, 0, 1e-6)

        self.conv_in = nn.Conv2d(4, last, 3, padding=1)
        self.mid_block = Level([resnet(last, last) for _ in range(2)], [ImageAttention(last)])
        up, inner = [], last
        for level, size in reversed(list(enumerate(widths))):
            scale = None if level == 0 else ("upsamplers", Scale(size, up=True))
            resnets = [resnet(inner if i == 0 else size, size) for i in range(3)]
            up.append(Level(resnets, [], scale))
            inner = size
        self.up_blocks = nn.ModuleList(up)
        self.conv_norm_out = nn.GroupNorm(GROUPS, inner, 1e-6)
        self.conv_out = nn.Conv2d(inner, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        middle = self.mid_block
        x = middle.resnets[0](self.conv_in(x))
        x = middle.resnets[1](middle.attentions[0](x))
        for block in self.up_blocks:
            for resnet in block.resnets:
                x = resnet(x)
            x = block.scaled(x)
        result: Tensor = self.conv_out(functional.silu(self.conv_norm_out(x)))
        return result


class VaeDecoder(nn.Module):  # type: ignore[misc]
    """The decoder of the autoencoder, from latents to an image of eight times the size."""

    def __init__(self, widths: Sequence[int] = (128, 256, 512, 512)) -> None:
        super().__init__()
        self.post_quant_conv = nn.Conv2d(4, 4, 1)
        self.decoder = Decoder(widths)

    def forward(self, latents: Tensor) -> Tensor:
        result: Tensor = self.decoder(self.post_quant_conv(latents))
        return result


class ClipLayer(nn.Module):  # type: ignore[misc]
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.self_attn = Attention(size, heads, size, bias=True)
        self.layer_norm1 = nn.LayerNorm(size)
        self.mlp = nn.ModuleDict(
            {"fc1": nn.Linear(size, 4 * size), "fc2": nn.Linear(4 * size, size)}
        )
        self.layer_norm2 = nn.LayerNorm(size)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.self_attn(self.layer_norm1(x))
        inner = self.mlp["fc1"](self.layer_norm2(x))
        result: Tensor = x + self.mlp["fc2"](inner * torch.sigmoid(1.702 * inner))
        return result


class ClipVision(nn.Module):  # type: ignore[misc]
    """The image encoder of CLIP ViT-L/14, without the projection."""

    def __init__(self, size: int = 1024, heads: int = 16, layers: int = 24, pixels: int = 224,
                 patch: int = 14) -> None:  # fmt: skip
        super().__init__()
        self.class_embedding = nn.Parameter(torch.randn(size))
        self.patch_embedding = nn.Conv2d(3, size, patch, stride=patch, bias=False)
        self.position_embedding = nn.Embedding((pixels // patch) ** 2 + 1, size)
        self.pre_layrnorm = nn.LayerNorm(size)
        self.layers = nn.ModuleList([ClipLayer(size, heads) for _ in range(layers)])
        self.post_layernorm = nn.LayerNorm(size)

    def forward(self, image: Tensor) -> Tensor:
        patches = self.patch_embedding(image).flatten(2).transpose(1, 2)
        first = self.class_embedding.expand(patches.shape[0], 1, -1)
        x = self.pre_layrnorm(torch.cat([first, patches], 1) + self.position_embedding.weight)
        for layer in self.layers:
            x = layer(x)
        result: Tensor = self.post_layernorm(x[:, 0])
        return result


# By name: makes a module, and the shapes of its inputs.
PUBLISHED: dict[str, tuple[Callable[[], Any], dict[str, tuple[int, ...]]]] = {
    "sd15_unet": (Unet, {"sample": (1, 4, 64, 64), "timestep": (1,), "context": (1, 77, 768)}),
    "sd15_vae_decoder": (VaeDecoder, {"latents": (1, 4, 64, 64)}),
    "clip_vit_l_14": (ClipVision, {"image": (1, 3, 224, 224)}),
}
