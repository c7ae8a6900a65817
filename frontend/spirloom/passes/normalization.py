"""Recognizes decomposed layer normalization and RMS normalization."""

from __future__ import annotations

import numpy as np

from spirloom.ir import ArgValue, DType, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.passes.patterns import Match, Rewrite, Rewrites

_LARGEST = np.finfo(np.float16).max


def _trailing(dims: ArgValue, x: Tensor) -> tuple[int, ...] | None:
    """The sizes of the dimensions that a mean reduces, if these are the last ones."""
    rank = len(x.shape)
    if not isinstance(dims, tuple):
        return None
    wrapped = sorted(int(d) % rank for d in dims if isinstance(d, int))
    last = bool(wrapped) and wrapped == list(range(rank - len(wrapped), rank))
    return x.shape[wrapped[0] :] if last else None


def _normalized(_: OpLibrary, found: Match) -> dict[str, object] | None:
    """The normalized shape, if all means are over it."""
    x = found.tensor("x")
    shapes = {_trailing(found[name], x) for name in ("dims", "inner") if name in found.values}
    (shape,) = shapes if len(shapes) == 1 else (None,)
    return None if shape is None else {"shape": shape}


def _norm(x: str, replacement: str) -> Rewrite:
    """x / √(mean(x²) + eps)"""
    return Rewrite(
        f"({x}) / sqrt(aten.mean.dim(square({x}), dims, True, ...) + eps)",
        replacement,
        _normalized,
        scalars=["eps"],
    )


def _parameter(_: OpLibrary, found: Match) -> dict[str, object] | None:
    """The parameter in the normalized shape. A constant may have leading dimensions of size 1."""
    size, value = found["shape"], found["p"]
    if not isinstance(value, Tensor) or not isinstance(size, tuple):
        return None
    if value.data is None:
        return {} if value.shape == size else None
    ones = len(value.shape) - len(size)
    fits = 0 <= ones <= len(found.result.shape) - len(size)
    if not fits or value.shape != (1,) * ones + size:
        return None
    return {"p": constant(value.name, value.data.reshape(value.shape[ones:]))}


def _weighted(norm: str) -> Rewrite:
    return Rewrite(
        f"once({norm}(x, shape, eps=eps)) * p", f"{norm}(x, shape, weight=p, eps=eps)", _parameter
    )


def _half_weight(_: OpLibrary, found: Match) -> dict[str, object] | None:
    """The weight in float16, if x is float16, and the weight is absent, or a constant that float16
    can represent.
    """
    weight = found["weight"]
    if found.tensor("x").dtype is not DType.F16:
        return None
    if not isinstance(weight, Tensor):
        return {}
    if weight.data is None or np.abs(weight.data).max(initial=0) > _LARGEST:
        return None
    return {"weight": constant(weight.name, weight.data.astype(np.float16))}


_CENTERED = "x - aten.mean.dim(x, inner, True, ...)"

# (x - mean) / √(variance + eps), optionally followed by · weight and + bias.
fuse_layer_norm = Rewrites(
    _norm(_CENTERED, "aten.native_layer_norm(x, shape, eps=eps)"),
    _weighted("aten.native_layer_norm"),
    Rewrite(
        "once(aten.native_layer_norm(x, shape, weight, eps=eps)) + p",
        "aten.native_layer_norm(x, shape, weight, p, eps)",
        _parameter,
    ),
)

# x / √(mean(x²) + eps), optionally followed by · weight. The float16 operator accumulates in
# float32, so that the casts around it are removed.
fuse_rms_norm = Rewrites(
    _norm("x", "aten.rms_norm(x, shape, eps=eps)"),
    _weighted("aten.rms_norm"),
    Rewrite(
        "aten._to_copy(once(aten.rms_norm(aten._to_copy(x, ...), shape, weight, eps)), 'f16')",
        "aten.rms_norm(x, shape, weight, eps)",
        _half_weight,
    ),
    _weighted("aten.rms_norm"),
)
