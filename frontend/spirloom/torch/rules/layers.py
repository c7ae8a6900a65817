"""Import rules of layers: convolution, pooling, normalization."""

from __future__ import annotations

from math import prod

import numpy as np

from spirloom.builder import Value
from spirloom.errors import InTrainingMode, Unsupported
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import Results, imports
from spirloom.torch.values import Item

_WINDOWS = [f"aten.{kind}_pool{rank}d" for kind in ("max", "avg") for rank in (1, 2, 3)]
_WITH_INDICES = [f"aten.max_pool{rank}d_with_indices" for rank in (1, 2, 3)]
_KINDS = ("adaptive_max", "adaptive_avg", "_adaptive_avg")
_ADAPTIVE = [f"aten.{kind}_pool{rank}d" for kind in _KINDS
             for rank in (1, 2, 3) if (kind, rank) != ("_adaptive_avg", 1)]  # fmt: skip


@imports(*_WINDOWS, *_WITH_INDICES)
def pool(ctx: CallContext) -> Item:
    """Maximum or average of each window."""
    batched, _ = _batched(ctx)
    kernel = ctx.integers("kernel_size")
    given: dict[str, object] = {
        "kernel_size": kernel,
        "stride": ctx.integers("stride") or kernel,
        "padding": ctx.integers("padding") or (0,),
        "ceil_mode": ctx.flag("ceil_mode"),
    }
    if "max" in ctx.target:
        given["dilation"] = ctx.integers("dilation") or (1,)
    else:
        given["count_include_pad"] = ctx.flag("count_include_pad", True)
        if ctx.has("divisor_override"):
            given["divisor_override"] = ctx.integer("divisor_override")
    results = ctx.applier.apply(ctx.target, {"x": batched, **given}, ctx.dtypes, ())
    return _unbatched(ctx, results)


@imports(*_ADAPTIVE)
def adaptive(ctx: CallContext) -> Item:
    """Adaptive pooling, by the output size."""
    batched, rank = _batched(ctx)
    op = ctx.target
    if rank > 1 and "avg" in op and "_adaptive" not in op:
        op = op.replace("adaptive", "_adaptive")
    size = ctx.shape()[-rank:]
    results = ctx.applier.apply(op, {"x": batched, "output_size": size}, ctx.dtypes, ())
    return _unbatched(ctx, results)


def _batched(ctx: CallContext) -> tuple[Value, int]:
    """The input with a batch dimension, and the rank of its windows."""
    x, rank = ctx.value("self"), int(ctx.target.partition("pool")[2][0])
    if len(x.shape) not in (rank + 1, rank + 2):
        raise Unsupported(f"its input {x} must have rank {rank + 1} or {rank + 2}")
    return x if len(x.shape) == rank + 2 else ctx.view(x, (1, *x.shape)), rank


def _unbatched(ctx: CallContext, results: tuple[Item, ...]) -> Item:
    return Results(ctx.view(result, ctx.shape()) for result in results)


_PLAIN = {1: "aten.conv1d", 2: "aten.convolution", 3: "aten.conv3d"}
_TRANSPOSED = {1: "aten.conv_transpose1d", 2: "aten.conv_transpose2d.input",
               3: "aten.conv_transpose3d.input"}  # fmt: skip


@imports("aten.conv1d", "aten.conv2d", "aten.conv3d", "aten.conv1d.padding", "aten.conv2d.padding",
         "aten.conv3d.padding", "aten.convolution", "aten.conv_transpose1d",
         "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")  # fmt: skip
def convolution(ctx: CallContext) -> Item:
    """Convolutions of 1 to 3 dimensions. torch also accepts inputs without a batch dimension."""
    x, weight = ctx.value("input"), ctx.value("weight")
    rank = len(weight.shape) - 2
    if rank not in _PLAIN:
        raise Unsupported(f"convolutions of {rank} dimensions are not supported")
    single = len(x.shape) == rank + 1
    if single:
        x = ctx.view(x, (1, *x.shape))
    transposed = ctx.flag("transposed") or "transpose" in ctx.target
    given: dict[str, object] = {"stride": _per_dimension(ctx, "stride", 1, rank)}
    dilation = _per_dimension(ctx, "dilation", 1, rank)
    if ctx.text("padding") == "same":
        x, given["padding"] = _same_padded(ctx, x, weight, dilation)
    else:
        given["padding"] = _per_dimension(ctx, "padding", 0, rank)
    if transposed:
        given["output_padding"] = _per_dimension(ctx, "output_padding", 0, rank)
    op = (_TRANSPOSED if transposed else _PLAIN)[rank]
    given |= {"dilation": dilation, "groups": ctx.integer("groups", 1)}
    result = (ctx.typed if single else ctx.apply)(
        op, x=x, weight=weight, bias=ctx.args.get("bias"), **given
    )
    return ctx.view(result, result.shape[1:]) if single else result


def _per_dimension(ctx: CallContext, name: str, default: int, rank: int) -> tuple[int, ...]:
    """One value per spatial dimension."""
    if ctx.text(name) == "valid":
        return (0,) * rank
    found = ctx.integers(name) or (default,)
    return found * rank if len(found) == 1 else found


def _same_padded(
    ctx: CallContext, x: Value, weight: Value, dilation: tuple[int, ...]
) -> tuple[Value, tuple[int, ...]]:
    """Padding "same"; even kernels need one more element at the end."""
    totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    odd = [total % 2 for total in totals]
    if any(odd):
        amounts = tuple(n for one in reversed(odd) for n in (0, one))
        x = ctx.inner("aten.constant_pad_nd", x, amounts)
    return x, tuple(total // 2 for total in totals)


@imports("aten._native_batch_norm_legit_no_training", "aten.batch_norm",
         "aten.native_batch_norm", "aten.cudnn_batch_norm",
         "aten._native_batch_norm_legit_functional",
         "aten._native_batch_norm_legit.no_stats")  # fmt: skip
def batch_norm(ctx: CallContext) -> Item:
    """Normalization by the running statistics, or by those of the batch if there are none."""
    x = ctx.value("input")
    if not ctx.has("running_mean"):
        return Results((_batch_statistics_norm(ctx, x),))
    if ctx.flag("training"):
        raise InTrainingMode("is in training mode")
    shape = x.shape
    if len(shape) == 2 or len(shape) == 3:  # as an image with a height of 1
        x = ctx.view(x, (*shape, *(1,) * (4 - len(shape))))
    parts = {n: ctx.args.get(n) for n in ("weight", "bias", "running_mean", "running_var")}
    eps = ctx.number("eps", 1e-5)
    y = ctx.typed("aten._native_batch_norm_legit_no_training", x=x, **parts, eps=eps)
    return Results((ctx.view(y, shape),))


def _batch_statistics_norm(ctx: CallContext, x: Value) -> Value:
    """Normalization of each channel by the statistics of the batch, as of one long example."""
    count, channels, *sizes = x.shape
    order = (1, 0, *range(2, len(x.shape)))
    rows = ctx.view(ctx.permute(x, order), (1, channels, count * prod(sizes)))
    parts = {name: ctx.args.get(name) for name in ("weight", "bias")}
    y = ctx.inner("aten.instance_norm", rows, **parts, eps=ctx.number("eps", 1e-5))
    return ctx.permute(ctx.view(y, (channels, count, *sizes)), order)


@imports("aten.instance_norm")
def instance_norm(ctx: CallContext) -> Item:
    """Normalization of each channel, by the statistics of the example or by running ones."""
    if ctx.flag("use_input_stats", True):
        return _normalized(ctx, "aten.instance_norm")
    running = {name: ctx.value(name) for name in ("running_mean", "running_var")}
    return _normalized(ctx, "aten._native_batch_norm_legit_no_training", **running)


@imports("aten.group_norm", "aten.native_group_norm")
def group_norm(ctx: CallContext) -> Item:
    """The first result. The others are for training."""
    groups = ctx.integer("num_groups" if ctx.has("num_groups") else "group")
    return Results((_normalized(ctx, "aten.native_group_norm", group=groups),))


@imports("aten.layer_norm", "aten.native_layer_norm")
def layer_norm(ctx: CallContext) -> Item:
    """The first result. The others are for training."""
    shape = ctx.integers("normalized_shape")
    return Results((_normalized(ctx, "aten.native_layer_norm", normalized_shape=shape),))


def _normalized(ctx: CallContext, op: str, **args: object) -> Value:
    """A normalization of the input with the call's weight, bias and eps."""
    weights = {name: ctx.args.get(name) for name in ("weight", "bias")}
    return ctx.apply(op, x=ctx.value("input"), **weights, **args, eps=ctx.number("eps", 1e-5))


@imports("aten._weight_norm")
def weight_norm(ctx: CallContext) -> Item:
    """v · g / ‖v‖, with norms over all dimensions but one."""
    v = ctx.value("v")
    rank, dim = len(v.shape), ctx.integer("dim", 0)
    dims = tuple(d for d in range(rank) if dim == -1 or d != dim % rank)
    squares = ctx.inner("aten.sum.dim_IntList", ctx.inner("aten.mul.Tensor", v, v), dims, True)
    factor = ctx.inner("aten.div.Tensor", ctx.value("g"), ctx.inner("aten.sqrt", squares))
    return ctx.inner("aten.mul.Tensor", v, factor)


@imports("aten.rms_norm", "aten._fused_rms_norm")
def rms_norm(ctx: CallContext) -> Item:
    """RMS norm; eps defaults to that of the element type."""
    shape, weight, eps = (
        ctx.integers("normalized_shape"),
        ctx.args.get("weight"),
        ctx.args.get("eps"),
    )
    eps = float(np.finfo(ctx.out_dtype()).eps) if eps is None else eps
    y = ctx.apply(
        "aten.rms_norm", x=ctx.value("input"), normalized_shape=shape, weight=weight, eps=eps
    )
    return Results((y,))


_SOFTMAX = {
    "aten.softmax.int": "aten._softmax",
    "aten._softmax": "aten._softmax",
    "aten.special_softmax": "aten._softmax",
    "aten._safe_softmax": "aten._safe_softmax",
    "aten.log_softmax.int": "aten._log_softmax",
    "aten._log_softmax": "aten._log_softmax",
}


@imports(*_SOFTMAX)
def softmax(ctx: CallContext) -> Item:
    """Softmax in the type of the result."""
    x = ctx.cast(ctx.value("self"), ctx.out_dtype())
    op = _SOFTMAX[ctx.target]
    dim = ctx.axis("dim", len(x.shape))
    if not x.shape:
        return ctx.filled(0 if op == "aten._log_softmax" else 1)
    return ctx.apply(op, x=x, dim=dim)


@imports("aten.pad")
def pad(ctx: CallContext) -> Item:
    """Padding by a constant, reflection or replication."""
    x, amounts = ctx.value("self"), ctx.integers("pad")
    if ctx.text("mode", "constant") == "constant":
        return ctx.apply("aten.constant_pad_nd", x=x, pad=amounts, value=ctx.number("value", 0))
    return ctx.apply("aten.pad", x=x, pad=amounts, mode=ctx.text("mode"))


@imports("aten.prelu", "aten._prelu_kernel")
def prelu(ctx: CallContext) -> Item:
    """PReLU with a slope per channel."""
    x, weight = ctx.value("self"), ctx.value("weight")
    if ctx.target == "aten.prelu" and len(x.shape) > 1:
        weight = ctx.view(weight, (weight.shape[0], *(1,) * (len(x.shape) - 2)))
    return ctx.apply("aten._prelu_kernel", a=x, b=weight)


@imports("aten.embedding")
def embedding(ctx: CallContext) -> Item:
    """Embedding lookup. `padding_idx` is for training."""
    names = ctx.applier.library.arg_names("aten.embedding")
    return ctx.apply(
        "aten.embedding", **{names[0]: ctx.value("weight"), names[1]: ctx.value("indices")}
    )


@imports("aten.linear")
def linear(ctx: CallContext) -> Item:
    """A linear layer, also with a computed weight, or one of one dimension: a dot product of each
    row."""
    x, weight = ctx.value("input"), ctx.value("weight")
    if len(weight.shape) > 1:
        return ctx.apply("aten.linear", x=x, weight=weight, bias=ctx.args.get("bias"))
    row = ctx.view(weight, (1, *weight.shape))
    bias = ctx.view(ctx.value("bias"), (1,)) if ctx.has("bias") else None
    return ctx.view(ctx.inner("aten.linear", x, row, bias), x.shape[:-1])


@imports("aten.mm", "aten.addmm", "aten.matmul")
def matrix_product(ctx: CallContext) -> Item:
    """A matrix product. With a constant matrix, it is a linear layer, as in GPT-2."""
    has_sum = ctx.target == "aten.addmm"
    a = ctx.value("mat1" if has_sum else "self")
    b = ctx.value("other" if ctx.target == "aten.matmul" else "mat2")
    c = ctx.value("self") if has_sum else None
    scales = ctx.number("beta", 1), ctx.number("alpha", 1)
    is_layer = (
        isinstance(b, np.ndarray)
        and not isinstance(a, np.ndarray)
        and len(b.shape) == 2
        and ctx.out_dtype() in (np.float32, np.float16)
        and (c is None or (c.shape == b.shape[1:] and scales == (1, 1)))
    )
    if is_layer:
        return ctx.apply("aten.linear", x=a, weight=ctx.permute(b, (1, 0)), bias=c)
    if c is None:
        return ctx.apply(ctx.target, a=a, b=b)
    return ctx.apply("aten.addmm", c=c, a=a, b=b, beta=scales[0], alpha=scales[1])
