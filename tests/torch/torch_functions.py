"""torch functions equal to operators whose arguments differ from torch's, or that torch lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

functional = torch.nn.functional


def _batch_norm(x: Any, w: Any, b: Any, mean: Any, var: Any, *rest: Any) -> Any:
    return functional.batch_norm(x, mean, var, w, b, False, 0.0, rest[-1])


def _index_put(x: Any, i: Any, j: Any, k: Any, src: Any, dim: int, accumulate: bool) -> Any:
    given = [index for index in (i, j, k) if index is not None]
    return torch.ops.aten.index_put(x, [*[None] * (dim % x.ndim), *given], src, accumulate)


def _index(x: Any, i: Any, j: Any, k: Any, dim: int) -> Any:
    given = [index for index in (i, j, k) if index is not None]
    return torch.ops.aten.index.Tensor(x, [*[None] * (dim % x.ndim), *given])


def _recurrent(kind: type[torch.nn.RNNBase]) -> Callable[..., Any]:
    """A bidirectional layer with its own weights; the spec's arguments are parts of a layer."""
    torch.manual_seed(0)
    layer = kind(3, 4, bidirectional=True).eval().requires_grad_(False)

    def function(x: Any, *rest: Any) -> Any:
        return layer(x.flatten(1)[:, :3].unsqueeze(1))[0]

    return function


def _resized(mode: str) -> Callable[..., Any]:
    """Resizing with interpolate(), as modules call it."""
    return lambda x, size, corners, *rest: functional.interpolate(
        x, size=list(size), mode=mode, align_corners=corners
    )


def _many(x: Any, *rest: Any) -> tuple[Any, ...]:
    """x as a tensor of rank 4, and indices of all dimensions."""
    rank4 = x.reshape(-1).repeat(16)[: 2 * 2 * 2 * 3].reshape(2, 2, 2, 3)
    return rank4, [torch.tensor([0, 1, 1])] * 4


def _gather_nd(x: Any, *rest: Any) -> Any:
    rank4, indices = _many(x)
    return torch.ops.aten.index.Tensor(rank4, indices)


def _scatter_nd(x: Any, *rest: Any) -> Any:
    rank4, indices = _many(x)
    return torch.ops.aten.index_put(rank4, indices, torch.ones(3, dtype=x.dtype))


def _attention(
    q: Any, k: Any, v: Any, mask: Any, dropout: float, causal: bool, scale: float
) -> Any:
    grouped = q.shape[-3] != k.shape[-3]
    return functional.scaled_dot_product_attention(
        q, k, v, mask, 0.0, causal, scale=scale or None, enable_gqa=grouped
    )


def _rotary(x: Any, *rest: Any) -> Any:
    """RoPE as in models of transformers, with angles that depend only on the positions."""
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2])[:, None] * 0.5 ** torch.arange(half)
    cos, sin = (torch.cat((part, part), -1) for part in (angles.cos(), angles.sin()))
    a, b = x[..., :half], x[..., half:]
    return x * cos + torch.cat((-b, a), -1) * sin


TORCH_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "aten._log_softmax": lambda x, dim, *rest: torch.log_softmax(x, dim),
    "aten._native_batch_norm_legit_no_training": _batch_norm,
    "aten._softmax": lambda x, dim, *rest: torch.softmax(x, dim),
    "aten.convolution": lambda x, w, b, s, p, d, g, *rest: functional.conv2d(
        x, w, b, s, p, d, rest[1]
    ),
    "spirloom.index_nd": _index,
    "spirloom.index_put": _index_put,
    "aten.native_group_norm": lambda x, w, b, groups, eps, *rest: functional.group_norm(
        x, groups, w, b, eps
    ),
    "aten.native_layer_norm": functional.layer_norm,
    "aten.pad": lambda x, pad, mode, *rest: functional.pad(x, pad, mode),
    "aten.rms_norm": torch.rms_norm,
    **{
        f"aten.upsample_{mode}{rank}d": _resized(mode)
        for mode, rank in (("bilinear", 2), ("bicubic", 2), ("linear", 1), ("trilinear", 3))
    },
    "aten.count_nonzero.dim_IntList": lambda x, dim, *rest: torch.count_nonzero(x, dim),
    "aten.eye.m": lambda n, m, dtype: torch.eye(n, m, dtype=dtype),
    "aten.instance_norm": lambda x, w, b, mean, var, own, eps, *rest: functional.instance_norm(
        x, weight=w, bias=b, eps=eps
    ),
    "aten.one_hot": lambda x, count: functional.one_hot(x.long(), count),
    "aten.prod.dim_int": lambda x, dim, keep: torch.prod(x, dim[0], keep),
    "aten.scaled_dot_product_attention": _attention,
    "spirloom.fused_elementwise": lambda x, *rest: torch.sin(torch.exp(x) * 0.5),
    "spirloom.gather_nd": _gather_nd,
    "spirloom.gru_layer": _recurrent(torch.nn.GRU),
    "spirloom.lstm_layer": _recurrent(torch.nn.LSTM),
    "spirloom.rnn_layer": _recurrent(torch.nn.RNN),
    "spirloom.rotary_embedding": _rotary,
    "spirloom.scatter_nd": _scatter_nd,
    "spirloom.softsign": functional.softsign,
    "spirloom.swiglu": lambda a, b: functional.silu(a) * b,
    "aten._to_copy": lambda x, dtype, *rest: x.to(dtype),
}
