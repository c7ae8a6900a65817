"""The rules by which --fp16 keeps computations in float32: one table of operators, and the limits
of constants. docs/how-to/fp16.md describes them.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from spirloom.ir import ArgValue, Array, DType, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.elementwise_fusion import CHAIN
from spirloom.passes.rewrite import ADD, COPY, DIV, MUL, SQUARE, SUB

LARGEST = float(np.finfo(np.float16).max)
# Finite values beyond the range become this value: masks still are finite after scores are added.
SATURATED = 61440.0
SMALLEST = float(np.finfo(np.float16).smallest_normal)


class Role(StrEnum):
    """What an operator does to the range and the precision of its result."""

    FOLLOWS = "as its inputs"
    GROWS = "may exceed the range of fp16"
    INVERTS = "is the inverse of a value"
    COMPRESSES = "fits fp16 for all float32 inputs, but loses small differences in it"
    BOUNDS = "fits fp16, and reads the dtype of its inputs"
    READS = "integers or bool, read from the dtype of the inputs"
    MULTIPLIES = "GEMM and convolution"
    CASTS = "float values of integers, or the reverse"
    STORES = "fp16"


class Reason(StrEnum):
    """Why a node stays float32."""

    RANGE = "the result may exceed fp16 (exponentials, powers, sums, inverses, logarithms)"
    EPSILON = f"a constant below {SMALLEST:.1e}, the smallest normal fp16 value"
    LARGE = f"a constant beyond ±{LARGEST:.0f}"
    EXACT = "integers, positions and angles"
    ISLAND = "the model casts fp16 to float32"
    OPTION = "--keep-float32"
    FOLLOWS = "between float32 nodes"


_MOVES = """
    as_strided cat channel_shuffle constant_pad_nd diag_embed diagonal embedding expand
    flatten.using_ints flip gather im2col index_select pad permute pixel_shuffle pixel_unshuffle
    repeat repeat_interleave.self_int roll select.int select_scatter slice.Tensor slice_scatter
    squeeze.dims tril triu unfold unsqueeze view
"""
_SELECTS = """
    abs amax amin clamp.Tensor fmax fmin masked_fill.Scalar max.dim maximum max_pool1d max_pool2d
    max_pool3d min.dim minimum neg relu sort topk where.self
"""
_REDUCES = "amax amin max.dim min.dim mean.dim adaptive_avg_pool1d _adaptive_avg_pool2d"
_FOLLOWS = """
    _native_batch_norm_legit_no_training _adaptive_avg_pool3d adaptive_max_pool1d
    adaptive_max_pool2d adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d col2im cummax cummin
    max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d
    max_pool3d_with_indices index_copy scatter.src sort topk upsample_bicubic2d
    upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    upsample_trilinear3d
"""
_TABLE = {
    Role.GROWS: """
        cdist cosh cumprod cumsum exp exp2 expm1 hypot linalg_vector_norm nansum
        pow.Tensor_Scalar pow.Tensor_Tensor prod.dim_int sinh square std.correction
        sum.dim_IntList var.correction
    """,
    Role.INVERTS: "reciprocal rsqrt",
    Role.COMPRESSES: """
        log log10 log1p log2 logaddexp logaddexp2 logcumsumexp logit logsumexp _log_softmax
        xlogy.Tensor
    """,
    Role.BOUNDS: """
        acos asin atan atan2 cos erf erfc hardsigmoid instance_norm native_group_norm
        native_layer_norm rms_norm _safe_softmax sigmoid sign sin sinc _softmax tan tanh
    """,
    Role.READS: """
        all.dims any.dims argmax argmin count_nonzero.dim_IntList eq.Tensor ge.Tensor gt.Tensor
        isfinite isinf isnan isneginf isposinf le.Tensor logical_and logical_not logical_or
        logical_xor lt.Tensor ne.Tensor signbit
    """,
    Role.MULTIPLIES: """
        addmm baddbmm bmm conv1d conv3d conv_transpose1d conv_transpose2d.input
        conv_transpose3d.input convolution linear matmul mm
    """,
    Role.FOLLOWS: f"{_MOVES} {_REDUCES} {_FOLLOWS}",
}
ROLES = {f"aten.{name}": role for role, names in _TABLE.items() for name in names.split()} | {
    COPY: Role.CASTS,
    CHAIN: Role.FOLLOWS,
    "spirloom.dequantize": Role.CASTS,
    "spirloom.linear_i8": Role.CASTS,
    "spirloom.convolution_i8": Role.CASTS,
    "spirloom.softsign": Role.BOUNDS,
    "spirloom.local_response_norm": Role.BOUNDS,
    "spirloom.quantize": Role.READS,
    "spirloom.choose_qparams": Role.READS,
}
# Operators without rounding: their fp16 result for fp16 inputs is exact.
EXACT = frozenset(f"aten.{name}" for name in f"{_MOVES} {_SELECTS}".split())
# Reductions to few elements. Float32 results cost little.
REDUCES = frozenset(f"aten.{name}" for name in _REDUCES.split())
# Operators that need exact arguments: the fraction of a turn is left of an angle.
ANGLES = frozenset(("aten.sin", "aten.cos", "aten.tan"))

_LIMITS = ("aten.maximum", "aten.minimum", "aten.fmax", "aten.fmin", "aten.clamp.Tensor")
_SUMS = (ADD, SUB)
_PRODUCTS = (MUL, DIV)
# Number arguments that are elements of the result, or limits of them.
_VALUES = ("value", "fill_value", "min", "max", "min_val", "max_val", "act_min", "act_max")


def role_of(op: str, library: OpLibrary) -> Role:
    """The role of an operator. Elementwise operators outside of the table follow their inputs."""
    found = ROLES.get(op)
    if found is not None:
        return found
    return Role.FOLLOWS if library.is_elementwise(op) else Role.STORES


def squares(op: str, args: tuple[ArgValue, ...]) -> bool:
    """Whether a call computes x²."""
    return op == SQUARE or (op == MUL and args[0] is args[1])


def reason_of_constant(op: str, tensor: Tensor) -> Reason | None:
    """Why an operator that reads a constant stays float32."""
    if (
        tensor.dtype is not DType.F32
        or tensor.data is None
        or op not in (*_SUMS, *_PRODUCTS, *_LIMITS)
    ):
        return None
    smallest, largest = _ends(tensor.data)
    mask = op in _SUMS and smallest == 0 and tensor.data.size > 1
    if op not in _LIMITS and largest > LARGEST and not mask:
        return Reason.LARGE
    # A small factor of single elements, such as a layer scale, only makes these elements small.
    uniform = smallest == largest and (tensor.data.size == 1 or op not in _PRODUCTS)
    return Reason.EPSILON if uniform and 0 < largest < SMALLEST else None


def reason_of_number(name: str, value: ArgValue) -> Reason | None:
    """Why a call with a number argument stays float32."""
    if name not in ("min", "max", "min_val", "max_val") or not isinstance(value, float):
        return None
    return Reason.EPSILON if 0 < abs(value) < SMALLEST else None


def clamped_number(name: str, value: ArgValue) -> ArgValue:
    """A number argument of an fp16 call. Finite values of the result saturate as constants do."""
    if name in _VALUES and isinstance(value, float) and LARGEST < abs(value) < np.inf:
        return float(np.copysign(SATURATED, value))
    return value


def fits(low: object, high: object) -> bool:
    """Whether values between these limits fit fp16."""
    return all(isinstance(v, int | float) and abs(v) <= LARGEST for v in (low, high))


def _ends(values: Array) -> tuple[float, float]:
    """The smallest and the largest magnitude of finite elements."""
    magnitudes = np.abs(values[np.isfinite(values)])
    if magnitudes.size == 0:
        return 0.0, 0.0
    return float(magnitudes.min()), float(magnitudes.max())
