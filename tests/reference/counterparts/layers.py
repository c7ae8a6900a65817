"""Matrix products, convolutions, attention and normalization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.reference.counterparts.pointwise import activate
from tests.reference.counterparts.reductions import safe_softmax

functional = torch.nn.functional


def _attention(
    q: Any, k: Any, v: Any, mask: Any, dropout: float, causal: bool, scale: float
) -> Any:
    """Decomposed attention; K and V are repeated for grouped-query attention."""
    group = q.shape[-3] // k.shape[-3]
    k, v = (t.repeat_interleave(group, -3) for t in (k, v))
    scores = q @ k.transpose(-1, -2) * (scale or q.shape[-1] ** -0.5)
    if mask is not None:
        scores = scores + mask
    if causal:
        visible = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~visible, -torch.inf)
    return safe_softmax(scores, -1) @ v


def _strided_attention(
    q: Any, k: Any, v: Any, mask: Any, batches: int, heads: int, kv_heads: int, queries: int,
    keys: int, depth: int, width: int, q_steps: list[int], k_steps: list[int], v_steps: list[int],
    order: list[int], causal: bool, scale: float,
) -> Any:  # fmt: skip
    """Attention over strided views, with permuted output dims."""
    q = q.as_strided((batches, heads, queries, depth), (*q_steps[1:], 1), q_steps[0])
    k = k.as_strided((batches, kv_heads, keys, depth), (*k_steps[1:], 1), k_steps[0])
    v = v.as_strided((batches, kv_heads, keys, width), (*v_steps[1:], 1), v_steps[0])
    return _attention(q, k, v, mask, 0.0, causal, scale).permute(*order, 3)


def _rms_norm(x: Any, shape: list[int], weight: Any, eps: float) -> Any:
    dims = [d - len(shape) for d in range(len(shape))]
    scaled = x * torch.rsqrt((x * x).mean(dims, True) + eps)
    return scaled if weight is None else scaled * weight


def _rotary(x: Any, cos: Any, sin: Any, interleaved: bool) -> Any:
    """Rotary embedding by complex multiplication."""
    pairs = x.unflatten(-1, (-1, 2)) if interleaved else x.unflatten(-1, (2, -1)).transpose(-1, -2)
    rotated = torch.view_as_complex(pairs.contiguous()) * torch.complex(cos, sin)
    y = torch.view_as_real(rotated)
    return (y if interleaved else y.transpose(-1, -2)).flatten(-2)


def _epilogue(y: Any, code: int, low: float, high: float, addend: Any) -> Any:
    """The epilogue of a layer: addend and activation."""
    return activate(y if addend is None else y + addend, code, low, high)


def _scaled_sum(product: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """beta * c + alpha * product(a, b)."""

    def form(c: Any, a: Any, b: Any, beta: float, alpha: float) -> Any:
        y = alpha * product(a, b)
        return y if beta == 0 else y + beta * c

    return form


def _normed(x: Any, norm: Any, eps: Any) -> Any:
    """The input of a layer, after the fused RMS norm if there is one."""
    return x if norm is None else _rms_norm(x, list(norm.shape), norm, eps[0])


def _gated(
    x: Any, weight: Any, bias: Any, code: int, low: float, high: float, norm: Any, eps: Any
) -> Any:
    x = _normed(x, norm, eps)
    gate_weight, up_weight = weight.chunk(2)
    biases = (None, None) if bias is None else bias.chunk(2)
    gate = activate(functional.linear(x, gate_weight, biases[0]), code, low, high)
    return gate * functional.linear(x, up_weight, biases[1])


def _max_pool(x: Any, *window: Any) -> Any:
    """Also of integers, which PyTorch's operator does not support."""
    return torch.max_pool2d(x.double(), *window).to(x.dtype)


COUNTERPARTS: dict[str, Callable[..., Any]] = {
    "aten.max_pool2d": _max_pool,
    "aten._native_batch_norm_legit_no_training": lambda x, w, b, mean, var, eps: (
        functional.batch_norm(x, mean, var, w, b, False, 0.0, eps)
    ),
    "aten.addmm": _scaled_sum(torch.mm),
    "aten.baddbmm": _scaled_sum(torch.bmm),
    # The last four args of the spec are the fused activation and the addend.
    "aten.convolution": lambda *args: _epilogue(torch.convolution(*args[:9]), *args[9:]),
    # PyTorch rejects empty tensors.
    "aten.instance_norm": lambda x, w, b, mean, var, use_input_stats, eps, *rest: (
        activate(functional.instance_norm(x, mean, var, w, b, use_input_stats, eps=eps), *rest)
        if x.numel()
        else x
    ),
    "aten.linear": lambda x, w, b, *rest: _epilogue(
        functional.linear(_normed(x, *rest[4:]), w, b), *rest[:4]
    ),
    "aten.native_group_norm": lambda x, w, b, group, eps, *rest: activate(
        functional.group_norm(x, group, w, b, eps), *rest
    ),
    "aten.native_layer_norm": functional.layer_norm,
    "aten.rms_norm": _rms_norm,
    "aten.scaled_dot_product_attention": _attention,
    "spirloom.gated_linear": _gated,
    "spirloom.local_response_norm": lambda x, size, before, alpha, beta, k: (
        functional.local_response_norm(x, size, alpha, beta, k)
    ),
    "spirloom.rotary_embedding": _rotary,
    "spirloom.strided_attention": _strided_attention,
}
