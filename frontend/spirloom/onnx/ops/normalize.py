"""Normalizations and softmax."""

from __future__ import annotations

from math import prod

from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts


@converts("BatchNormalization")
def batch_norm(ctx: NodeContext) -> Tensor:
    if ctx.integer("training_mode", 0):
        raise Unsupported("training_mode is set; export the model in inference mode (model.eval())")
    ctx.refuse_extra_outputs()
    if ctx.opset < 9 and not ctx.integer("spatial", 1):
        raise Unsupported("spatial = 0 (statistics per element) is not supported")
    return ctx.build.emit(
        "aten._native_batch_norm_legit_no_training",
        x=ctx.tensor(0),
        weight=ctx.tensor(1),
        bias=ctx.tensor(2),
        running_mean=ctx.tensor(3),
        running_var=ctx.tensor(4),
        eps=ctx.number("epsilon", 1e-5),
    )


@converts("LayerNormalization")
def layer_norm(ctx: NodeContext) -> Tensor | list[Tensor]:
    x = ctx.tensor(0)
    axis = ctx.axis(ctx.integer("axis", -1), len(x.shape))
    size = x.shape[axis:]
    weight, bias = ctx.optional_tensor(1), ctx.optional_tensor(2)
    eps = ctx.number("epsilon", 1e-5)
    fits = all(v is None or v.shape == size for v in (weight, bias))
    given = {"weight": weight, "bias": bias} if fits else {}
    y = ctx.build.emit("aten.native_layer_norm", x=x, normalized_shape=size, **given, eps=eps)
    if not fits:  # they are broadcast
        y = y if weight is None else ctx.build.mul(y, weight)
        y = y if bias is None else ctx.build.add(y, bias)
    if not (ctx.uses_output(1) or ctx.uses_output(2)):
        return y
    dims = range(axis, len(x.shape))
    mean = ctx.build.reduce("aten.mean.dim", x, dims)
    centered = ctx.build.emit("aten.sub.Tensor", a=x, b=mean)
    variance = ctx.build.reduce("aten.mean.dim", ctx.build.mul(centered, centered), dims)
    variance = ctx.build.add(variance, ctx.build.scalar(eps, x.dtype))
    return [y, mean, ctx.build.emit("aten.rsqrt", x=variance)]


@converts("LpNormalization")
def lp_norm(ctx: NodeContext) -> Tensor:
    """x divided by its norm along an axis; 0 where the norm is 0."""
    x, order = ctx.tensor(0), ctx.integer("p", 2)
    if order not in (1, 2):
        raise Unsupported(f"p = {order} is not supported; 1 and 2 are")
    dim = ctx.axis(ctx.integer("axis", -1), len(x.shape))
    norm = ctx.build.emit(
        "aten.linalg_vector_norm", x=x, dim=(dim,), keepdim=True, ord=float(order)
    )
    zero = ctx.build.scalar(0, x.dtype)
    is_zero = ctx.build.emit("aten.eq.Tensor", a=norm, b=zero)
    divisor = ctx.build.emit(
        "aten.where.self", condition=is_zero, a=ctx.build.scalar(1, x.dtype), b=norm
    )
    return ctx.build.emit("aten.div.Tensor", a=x, b=divisor)


@converts("RMSNormalization")
def rms_norm(ctx: NodeContext) -> Tensor:
    return root_mean_square(ctx, ctx.tensor(0), ctx.tensor(1), ctx.number("epsilon", 1e-5))


def root_mean_square(ctx: NodeContext, x: Tensor, scale: Tensor, eps: float) -> Tensor:
    """RMS normalization over the dimensions from attribute `axis` on."""
    size = x.shape[ctx.axis(ctx.integer("axis", -1), len(x.shape)) :]
    weight = scale if scale.shape == size and scale.dtype is x.dtype else None
    y = ctx.build.emit("aten.rms_norm", x=x, normalized_shape=size, weight=weight, eps=eps)
    return y if weight is not None else ctx.build.mul(y, scale)


@converts("InstanceNormalization")
def instance_norm(ctx: NodeContext) -> Tensor:
    return _group_norm(ctx, ctx.ranked(0, 2).shape[1], ctx.tensor(1), ctx.tensor(2))


@converts("GroupNormalization")
def group_norm(ctx: NodeContext) -> Tensor:
    x, groups = ctx.ranked(0, 2), ctx.integer("num_groups", 0)
    if groups < 1 or x.shape[1] % groups:
        raise Unsupported(f"{x.shape[1]} channels do not split into {groups} groups")
    weight, bias = ctx.tensor(1), ctx.tensor(2)
    if ctx.opset < 21:  # one scale and bias per group
        weight, bias = (
            ctx.build.emit(
                "aten.repeat_interleave.self_int", x=v, repeats=x.shape[1] // groups, dim=0
            )
            for v in (weight, bias)
        )
    return _group_norm(ctx, groups, weight, bias)


def _group_norm(ctx: NodeContext, groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    return ctx.build.emit(
        "aten.native_group_norm",
        x=ctx.tensor(0),
        weight=weight,
        bias=bias,
        group=groups,
        eps=ctx.number("epsilon", 1e-5),
    )


@converts("LRN")
def local_response_norm(ctx: NodeContext) -> Tensor:
    x, size = ctx.tensor(0), ctx.integer("size", 0)
    if len(x.shape) < 2 or size < 1:
        raise Unsupported(f"rank {len(x.shape)} and size {size} are not supported")
    return ctx.build.emit(
        "spirloom.local_response_norm",
        x=x,
        size=size,
        before=(size - 1) // 2,
        alpha=ctx.number("alpha", 1e-4),
        beta=ctx.number("beta", 0.75),
        k=ctx.number("bias", 1.0),
    )


@converts("Softmax", "LogSoftmax")
def softmax(ctx: NodeContext) -> Tensor:
    op = "aten._softmax" if ctx.op_type == "Softmax" else "aten._log_softmax"
    x = ctx.tensor(0)
    rank = len(x.shape)
    axis = ctx.axis(ctx.integer("axis", -1 if ctx.opset >= 13 else 1), rank)
    if ctx.opset >= 13 or axis == rank - 1:
        return ctx.build.emit(op, x=x, dim=axis)
    # Before opset 13, over all dimensions from `axis` on.
    rows = ctx.build.view(x, [prod(x.shape[:axis]), prod(x.shape[axis:])])
    return ctx.build.view(ctx.build.emit(op, x=rows, dim=1), x.shape)
