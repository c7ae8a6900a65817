"""A call of each operator that ExecuTorch's partitioner delegates: name → (function, inputs)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

Case = tuple[Callable[..., Any] | torch.nn.Module, tuple[Any, ...]]


def _x(*shape: int) -> torch.Tensor:
    return torch.rand(shape) * 2 - 1


def _positive(*shape: int) -> torch.Tensor:
    return torch.rand(shape) + 0.5


def _ints(*shape: int) -> torch.Tensor:
    return torch.randint(-8, 8, shape, dtype=torch.int32)


def _bools(*shape: int) -> torch.Tensor:
    return torch.rand(shape) > 0.5


_UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "abs": torch.abs,
    "cos": torch.cos,
    "exp": torch.exp,
    "hardswish": F.hardswish,
    "neg": torch.neg,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "sin": torch.sin,
    "tanh": torch.tanh,
    "round": torch.round,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "hardtanh": lambda x: F.hardtanh(x, -0.4, 0.5),
    "clamp": lambda x: torch.clamp(x, max=0.25),
    "_softmax": lambda x: torch.softmax(x, 1),
    "_log_softmax": lambda x: torch.log_softmax(x, -1),
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "flip": lambda x: torch.flip(x, [1]),
    "view_copy": lambda x: x.reshape(3, 10) + 1.0,
    "permute_copy": lambda x: x.permute(2, 0, 1) + 1.0,
    "squeeze_copy.dims": lambda x: x.reshape(2, 1, 15).squeeze(1) + x.reshape(2, 15),
    "unsqueeze_copy": lambda x: x.unsqueeze(1) + 1.0,
    "select_copy.int": lambda x: x.select(1, 2) * 2.0,
    "slice_copy.Tensor": lambda x: x[:, 1:, ::2] * 2.0,
    "expand_copy": lambda x: x[:, :1].expand(2, 4, 5) * 2.0,
    "repeat": lambda x: x.repeat(2, 1, 3) * 2.0,
    "split_with_sizes_copy": lambda x: torch.split(x, [1, 4], 2),
    "unfold_copy": lambda x: x.unfold(2, 3, 2) * 1.0,
    "constant_pad_nd": lambda x: F.pad(x, (1, 2, 0, 1), value=0.5),
    "pow.Tensor_Scalar": lambda x: x**2.0,
    "full_like": lambda x: torch.full_like(x, 2.0) * x,
    "eq.Scalar": lambda x: torch.eq(torch.round(x), 1.0),
    "ne.Scalar": lambda x: torch.ne(torch.round(x), 1.0),
    "lt.Scalar": lambda x: x < 0.1,
    "le.Scalar": lambda x: x <= 0.1,
    "where.self of a hardshrink": F.hardshrink,
    "gt.Scalar": lambda x: x > 0.1,
    "ge.Scalar": lambda x: x >= 0.1,
    "logical_not": lambda x: torch.logical_not(x > 0.1),
    "sum.dim_IntList": lambda x: x.sum(2, keepdim=True),
    "mean.dim": lambda x: x.mean(2, keepdim=True),
    "amax": lambda x: x.amax(2, keepdim=True),
    "amin": lambda x: x.amin(2, keepdim=True),
    "argmax": lambda x: x.argmax(2, keepdim=True),
    "argmin": lambda x: x.argmin(2, keepdim=True),
}

_BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add.Tensor": lambda a, b: torch.add(a, b, alpha=2),
    "sub.Tensor": torch.sub,
    "mul.Tensor": torch.mul,
    "minimum": torch.minimum,
    "div.Tensor": torch.div,
    "eq.Tensor": torch.eq,
    "lt.Tensor": torch.lt,
    "le.Tensor": torch.le,
    "gt.Tensor": torch.gt,
    "ge.Tensor": torch.ge,
}

_IMAGES: dict[str, Callable[[torch.Tensor], Any]] = {
    "max_pool2d_with_indices": lambda x: F.max_pool2d(x, 2, return_indices=True),
    "max_pool2d_with_indices without them": lambda x: F.max_pool2d(x, 3, 2, 1),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2, ceil_mode=True),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "upsample_nearest2d.vec": lambda x: F.interpolate(x, scale_factor=2.0),
    "upsample_bilinear2d.vec": lambda x: F.interpolate(
        x, size=(11, 9), mode="bilinear", align_corners=True
    ),
}


class RmsNorm(torch.nn.Module):  # type: ignore[misc]
    """The decomposed RMS norm of language models, which ExecuTorch fuses."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(_positive(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.weight


class _Batch(torch.nn.Module):  # type: ignore[misc]
    """A batch norm that is not folded, as it does not follow a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm2d(8)
        self.norm.running_mean = _x(8)
        self.norm.running_var = _positive(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(torch.sigmoid(x))


_LAYERS: dict[str, Case] = {
    "linear": (torch.nn.Linear(5, 7), (_x(3, 5),)),
    "mm": (torch.mm, (_x(3, 5), _x(5, 4))),
    "bmm": (torch.bmm, (_x(2, 3, 5), _x(2, 5, 4))),
    "convolution": (torch.nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), (_x(1, 4, 9, 8),)),
    "convolution 1d": (torch.nn.Conv1d(4, 6, 3, padding=1), (_x(1, 4, 9),)),
    "convolution transposed": (
        torch.nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1),
        (_x(1, 4, 5, 6),),
    ),
    "et_vk.conv_with_clamp": (
        torch.nn.Sequential(torch.nn.Conv2d(4, 6, 3), torch.nn.ReLU6()),
        (_x(1, 4, 9, 8),),
    ),
    "et_vk.conv_with_clamp 1d": (
        torch.nn.Sequential(torch.nn.Conv1d(4, 6, 3), torch.nn.ReLU()),
        (_x(1, 4, 9),),
    ),
    "native_layer_norm": (torch.nn.LayerNorm(6), (_x(2, 5, 6),)),
    "native_group_norm": (torch.nn.GroupNorm(2, 8), (_x(1, 8, 5, 6),)),
    "_native_batch_norm_legit_no_training": (_Batch(), (_x(1, 8, 5, 6),)),
    "embedding": (torch.nn.Embedding(9, 4), (torch.tensor([[0, 8, 3]]),)),
    "et_vk.rms_norm": (RmsNorm(6), (_x(2, 5, 6),)),
}

_OTHERS: dict[str, Case] = {
    "sqrt": (torch.sqrt, (_positive(2, 3, 5),)),
    "rsqrt": (torch.rsqrt, (_positive(2, 3, 5),)),
    "log10": (torch.log10, (_positive(2, 3, 5),)),
    "clamp of ints": (lambda x: torch.clamp(x, -3, 4), (_ints(2, 3, 5),)),
    "pow.Tensor_Tensor": (torch.pow, (_positive(2, 3), _x(2, 3))),
    "div.Tensor_mode": (
        lambda a, b: torch.div(a, b, rounding_mode="floor"),
        (_x(2, 3) * 9, _positive(2, 3)),
    ),
    "add.Tensor of ints": (torch.add, (_ints(2, 3), _ints(2, 3))),
    "bitwise_and.Tensor": (torch.bitwise_and, (_bools(2, 3), _bools(2, 3))),
    "bitwise_or.Tensor": (torch.bitwise_or, (_bools(2, 3), _bools(2, 3))),
    "bitwise_not": (torch.bitwise_not, (_bools(2, 3),)),
    "logical_and": (torch.logical_and, (_bools(2, 3), _bools(2, 3))),
    "logical_or": (torch.logical_or, (_bools(2, 3), _bools(2, 3))),
    "where.self": (torch.where, (_bools(2, 3), _x(2, 3), _x(2, 3))),
    "cat": (lambda a, b: torch.cat([a, b], 1), (_x(2, 3), _x(2, 5))),
    "dim_order_ops._to_dim_order_copy": (
        lambda x: x.to(torch.float32) * 0.5,
        (_ints(2, 3),),
    ),
    "index_select": (
        lambda x, i: torch.index_select(x, 1, i),
        (_x(1, 4, 3, 5), torch.tensor([2, 0, 3])),
    ),
    "index.Tensor": (lambda x, i: x[i], (_x(6), torch.tensor([2, 0, 5]))),
    "gather": (lambda x, i: torch.gather(x, 1, i), (_x(2, 4), torch.tensor([[3, 0], [1, 1]]))),
    "full": (lambda x: torch.full((2, 3), 1.5) + x, (_x(2, 3),)),
    "arange.start_step": (lambda x: torch.arange(1, 11, 2).to(torch.float32) + x, (_x(5),)),
    "grid_sampler_2d": (
        lambda x, g: F.grid_sample(x, g, "bilinear", "border", align_corners=True),
        (_x(1, 4, 5, 6), _x(1, 3, 7, 2)),
    ),
}


def cases() -> dict[str, Case]:
    """Cases by name. A suffix after a blank distinguishes several calls of one operator."""
    torch.manual_seed(1)
    found: dict[str, Case] = {name: (f, (_x(2, 3, 5),)) for name, f in _UNARY.items()}
    found |= {name: (f, (_x(2, 3, 5), _positive(3, 1))) for name, f in _BINARY.items()}
    found |= {name: (f, (_x(1, 8, 6, 7),)) for name, f in _IMAGES.items()}
    return found | _LAYERS | _OTHERS
