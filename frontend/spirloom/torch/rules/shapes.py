"""Import rules of views, permutations, slices, casts and symbolic sizes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from spec_model.symbolic import maximum, minimum, settle
from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.number_expr import FORMULAS, Number, SymFloat
from spirloom.size_tables import by_table
from spirloom.sizes import SymInt, clamped_index, refuse_symbolic
from spirloom.torch.assertions import ASSERTIONS
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import imports
from spirloom.torch.values import Item

_SCALAR_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "operator.add": operator.add,
    "operator.and_": operator.and_,
    "operator.eq": operator.eq,
    "operator.floordiv": operator.floordiv,
    "operator.ge": operator.ge,
    "operator.gt": operator.gt,
    "operator.le": operator.le,
    "operator.lt": operator.lt,
    "operator.mod": operator.mod,
    "operator.mul": operator.mul,
    "operator.ne": operator.ne,
    "operator.neg": operator.neg,
    "operator.or_": operator.or_,
    "operator.pow": operator.pow,
    "operator.sub": operator.sub,
    "operator.truediv": operator.truediv,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.trunc": math.trunc,
    "torch.sym_float": float,
    "torch.sym_int": int,
    "torch.sym_ite": lambda condition, a, b: a if condition else b,
    "torch.sym_max": maximum,
    "torch.sym_min": minimum,
    "torch.sym_not": operator.not_,
    "torch._sym_sqrt": math.sqrt,
    "builtins.round": round,
}


# Functions whose results are floats.
_OF_FLOATS = ("operator.truediv", "torch.sym_float", "torch._sym_sqrt", "math.sqrt")

# Functions with a formula for all numbers that depend on sizes. Results of others are integers.
_FORMULAS = ("abs", "add", "float", "floordiv", "max", "min", "mul", "neg", "pow", "sqrt", "sub",
             "truediv")  # fmt: skip


@imports(*_SCALAR_FUNCTIONS)
def scalar_function(ctx: CallContext) -> Item:
    """Arithmetic of Python numbers, evaluated at import."""
    values = list(ctx.args.values())
    if not all(isinstance(value, int | float | SymFloat) for value in values):
        raise Unsupported("it depends on numbers that are unknown at import")
    is_float = any(isinstance(value, float) for value in values) or ctx.target in _OF_FLOATS
    symbolic = any(isinstance(value, SymInt) for value in values)
    try:
        if any(isinstance(value, SymFloat) for value in values) or (symbolic and is_float):
            return _of_sizes(ctx.target, values)
        return _SCALAR_FUNCTIONS[ctx.target](*values)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise Unsupported(f"it cannot be computed: {error}") from error


def _of_sizes(target: str, values: list[Number]) -> Number:
    """The result of a function of numbers that depend on sizes, not all of which are integers."""
    name = target.rpartition(".")[2].removeprefix("_").removeprefix("sym_")
    if name in ("truediv", "floordiv", "mod"):
        _assume_nonzero(values[1])
    elif name == "pow" and isinstance(values[1], int | float) and values[1] < 0:
        _assume_nonzero(values[0])
    if name in _FORMULAS:
        return FORMULAS[name](*values)
    function = np.vectorize(_SCALAR_FUNCTIONS[target])
    return by_table(
        values, lambda table: np.asarray(function(*(c.astype(np.float64) for c in table)))
    )


def _assume_nonzero(value: Number) -> None:
    """Makes it a guard that a number that depends on sizes is not zero: Python raises an error."""
    if isinstance(value, SymInt):
        settle(value.size, "!=")
    elif isinstance(value, SymFloat) and value.expr.bounds().low <= 0 <= value.expr.bounds().high:
        for size in value.expr.leaves():
            assert isinstance(size, SymInt)
            settle(size.size, "!=")


@imports("aten.sym_size.int")
def size(ctx: CallContext) -> Item:
    """The size of a dimension."""
    shape = ctx.value("self").shape
    return shape[ctx.axis("dim", len(shape))]


@imports("aten.sym_numel")
def count(ctx: CallContext) -> Item:
    """The number of elements."""
    return math.prod(ctx.value("self").shape)


@imports("aten.item", "aten._local_scalar_dense", "aten.Bool.Tensor")
def item(ctx: CallContext) -> Item:
    """The value of a constant scalar."""
    x = ctx.value("self")
    if not isinstance(x, np.ndarray) or x.size != 1:
        raise Unsupported("it converts a tensor to a number, which is known only at run time")
    return x.reshape(-1)[0].item()


@imports(*ASSERTIONS)
def assertion(ctx: CallContext) -> Item:
    """Ignored: an assertion of the program."""
    return None


@imports(
    "aten.clone", "aten.alias", "aten.contiguous", "aten.detach", "aten.detach_",
    "aten.lift_fresh", "aten.lift_fresh_copy", "aten.lift", "aten.positive", "aten.to.device",
    "aten.resolve_conj", "aten.resolve_neg", "aten.conj", "aten.requires_grad_", "aten.real",
    "aten.alias_copy", "aten.detach_copy",
)  # fmt: skip
def identity(ctx: CallContext) -> Item:
    """The argument, unchanged."""
    return ctx.value("self")


@imports("aten.dropout", "aten.feature_dropout", "aten.alpha_dropout")
def dropout(ctx: CallContext) -> Item:
    """The identity in evaluation mode."""
    if ctx.flag("train", True) and ctx.number("p", 0.5) > 0:
        raise Unsupported("it generates random values; call eval() on the module before exporting")
    return ctx.value("input")


@imports(
    "aten.view", "aten.reshape", "aten._unsafe_view", "aten.view_as", "aten.unflatten.int",
    "aten.squeeze", "aten.squeeze.dim", "aten._reshape_alias", "aten.reshape_as",
    "aten._reshape_copy", "aten.ravel", "aten.atleast_1d", "aten.atleast_2d", "aten.atleast_3d",
)  # fmt: skip
def view(ctx: CallContext) -> Item:
    """A view with the shape that the program states."""
    return ctx.view(ctx.value("self"), ctx.shape())


@imports("aten.transpose.int", "aten.swapaxes", "aten.swapdims", "aten.transpose_copy.int")
def transpose(ctx: CallContext) -> Item:
    """Two dimensions swapped."""
    x = ctx.value("self")
    rank = len(x.shape)
    names = [a.name for a in ctx.call.arguments[1:3]]
    dims = list(range(rank))
    a, b = (ctx.axis(name, rank) for name in names)
    if rank:
        dims[a], dims[b] = b, a
    return ctx.permute(x, dims)


@imports("aten.t", "aten.numpy_T", "aten.mT", "aten.adjoint", "aten.t_copy")
def transposed(ctx: CallContext) -> Item:
    """The last two dimensions swapped, or all reversed."""
    x = ctx.value("self")
    dims = list(range(len(x.shape)))
    if ctx.target == "aten.numpy_T" or len(dims) < 2:
        return ctx.permute(x, dims[::-1])
    return ctx.permute(x, [*dims[:-2], dims[-1], dims[-2]])


@imports("aten.movedim.int", "aten.movedim.intlist")
def movedim(ctx: CallContext) -> Item:
    """Dimensions moved to other positions."""
    x = ctx.value("self")
    dims = ctx.integers("source"), ctx.integers("destination")
    try:
        np.moveaxis(np.empty((1,) * len(x.shape)), *dims)
    except ValueError as error:
        raise Unsupported(f"its dimensions are invalid: {error}") from error
    source, destination = ([d % len(x.shape) for d in ds] for ds in dims)
    order = [d for d in range(len(x.shape)) if d not in source]
    for index, dim in sorted(zip(destination, source, strict=True)):
        order.insert(index, dim)
    return ctx.permute(x, order)


@imports("aten.expand", "aten.expand_as", "aten.broadcast_to")
def expand(ctx: CallContext) -> Item:
    """Broadcast to the shape that the program states."""
    x = ctx.value("self")
    if isinstance(x, np.ndarray):
        return ctx.expanded(x)
    return x if x.shape == ctx.shape() else ctx.apply("aten.expand", x=x, size=ctx.shape())


@imports("aten.slice.Tensor", "aten.slice_copy.Tensor")
def slice_(ctx: CallContext) -> Item:
    """A slice of a dimension."""
    x = ctx.value("self")
    dim = ctx.axis("dim", len(x.shape), 0)
    start, end, step = _range(ctx, ctx.size(x, dim))
    return ctx.slice(x, dim, start, end, step)


@imports("aten.slice_scatter")
def slice_scatter(ctx: CallContext) -> Item:
    """x with a slice of a dimension replaced."""
    x = ctx.value("self")
    dim = ctx.axis("dim", len(x.shape), 0)
    start, end, step = _range(ctx, ctx.size(x, dim))
    return ctx.apply(
        "aten.slice_scatter", x=x, src=ctx.value("src"), dim=dim, start=start, end=end, step=step
    )


def _range(ctx: CallContext, size: int) -> tuple[int, int, int]:
    """start, end and step, clamped to a size."""
    step = ctx.integer("step", 1)
    if step < 1:
        raise Unsupported(f"its argument 'step' ({step}) is not positive")
    start, end = (clamped_index(ctx.integer(*end), size) for end in (("start", 0), ("end", size)))
    return start, maximum(start, end), step


@imports("aten.narrow")
def narrow(ctx: CallContext) -> Item:
    """A slice of a dimension by its length."""
    x = ctx.value("self")
    dim = ctx.axis("dim", len(x.shape))
    start, size = ctx.integer("start"), ctx.size(x, dim)
    start = start + size if start < 0 else start
    return ctx.slice(x, dim, start, start + ctx.integer("length"))


@imports("aten.split.Tensor", "aten.split_with_sizes", "aten.split.sizes", "aten.chunk",
         "aten.unsafe_split.Tensor", "aten.split_with_sizes_copy", "aten.split_copy.Tensor",
         "aten.unsafe_chunk", "aten.tensor_split.sections")  # fmt: skip
def split(ctx: CallContext) -> Item:
    """Consecutive slices of a dimension."""
    x = ctx.value("self")
    dim = ctx.axis("dim", len(x.shape), 0)
    parts, start = [], 0
    for size in _sizes(ctx, refuse_symbolic(ctx.size(x, dim))):
        parts.append(ctx.slice(x, dim, start, start + size))
        start += size
    return tuple(parts)


def _sizes(ctx: CallContext, total: int) -> list[int]:
    if ctx.has("split_sizes") or isinstance(ctx.args.get("split_size"), tuple):
        return list(ctx.integers("split_sizes" if ctx.has("split_sizes") else "split_size"))
    if ctx.has("sections"):
        count = ctx.integer("sections")
        return [total // count + (i < total % count) for i in range(count)]
    if ctx.has("chunks"):
        count = ctx.integer("chunks")
        each = -(-total // count)
    else:
        each = ctx.integer("split_size")
    return [min(each, total - start) for start in range(0, total, max(each, 1))] or [0]


@imports("aten.unbind.int", "aten.unbind_copy.int")
def unbind(ctx: CallContext) -> Item:
    """The slices at all indices of a dimension."""
    x = ctx.value("self")
    dim = ctx.axis("dim", len(x.shape), 0)
    return tuple(_selected(ctx, x, dim, i) for i in range(refuse_symbolic(ctx.size(x, dim))))


def _selected(ctx: CallContext, x: Value, dim: int, index: int) -> Value:
    if isinstance(x, np.ndarray):
        return x[(slice(None),) * dim + (index,)]
    return ctx.inner("aten.select.int", x, dim=dim, index=index)


@imports("aten.stack")
def stack(ctx: CallContext) -> Item:
    """Concatenation along a new dimension."""
    shape = ctx.shape()
    dim = ctx.axis("dim", len(shape), 0)
    parts = ctx.values("tensors")
    one = (*shape[:dim], 1, *shape[dim + 1 :])
    return ctx.apply("aten.cat", tensors=tuple(ctx.view(p, one) for p in parts), dim=dim)


@imports("aten.cat")
def cat(ctx: CallContext) -> Item:
    """Concatenation; torch ignores empty tensors of rank 1."""
    rank = len(ctx.shape())
    parts = [p for p in ctx.values("tensors") if len(p.shape) == rank]
    dim = ctx.axis("dim", rank, 0)
    if len(parts) == 1:
        return ctx.cast(parts[0], ctx.out_dtype())
    return ctx.apply("aten.cat", tensors=tuple(parts), dim=dim)


@imports("aten.diff")
def diff(ctx: CallContext) -> Item:
    """Differences of neighbours along a dimension, `n` times; of bools, whether they differ."""
    x = ctx.value("self")
    dim = ctx.axis("dim", len(x.shape), -1)
    ends = [ctx.cast(ctx.value(n), ctx.out_dtype()) for n in ("prepend", "append") if ctx.has(n)]
    if ends:
        parts = (
            *(ends[:1] if ctx.has("prepend") else ()),
            x,
            *(ends[-1:] if ctx.has("append") else ()),
        )
        x = ctx.inner("aten.cat", parts, dim)
    op = "aten.logical_xor" if ctx.out_dtype() == np.bool_ else "aten.sub.Tensor"
    for _ in range(ctx.integer("n", 1)):
        size = max(ctx.size(x, dim), 1)
        x = ctx.inner(op, ctx.slice(x, dim, 1, size), ctx.slice(x, dim, 0, size - 1))
    return x


@imports(
    "aten._to_copy", "aten.to.dtype", "aten.to.dtype_layout", "aten.to.other", "aten.type_as",
)  # fmt: skip
def cast(ctx: CallContext) -> Item:
    """Cast to the element type that the program states."""
    return ctx.cast(ctx.value("self"), ctx.out_dtype())


@imports("aten.copy")
def copied(ctx: CallContext) -> Item:
    """The second tensor, with the shape and type of the first."""
    src = ctx.cast(ctx.value("src"), ctx.out_dtype())
    if src.shape == ctx.shape():
        return src
    if isinstance(src, np.ndarray):
        return ctx.expanded(src)
    return ctx.inner("aten.expand", src, ctx.shape())


@imports("aten.repeat", "aten.tile")
def repeat(ctx: CallContext) -> Item:
    """Repetition along dimensions, including new leading ones."""
    x = ctx.value("self")
    repeats = ctx.integers("repeats" if ctx.has("repeats") else "dims")
    repeats = (1,) * (len(x.shape) - len(repeats)) + repeats
    if prod(repeats) == 1:
        return ctx.view(x, ctx.shape())
    return ctx.apply("aten.repeat", x=x, repeats=repeats)


@imports("aten.flatten.using_ints", "aten.unsqueeze", "aten.squeeze.dims")
def reshaped(ctx: CallContext) -> Item:
    """Views with operators of their own; constants are reshaped."""
    x = ctx.value("self")
    if isinstance(x, np.ndarray) or x.shape == ctx.shape():
        return ctx.view(x, ctx.shape())
    names = ctx.applier.library.arg_names(ctx.target)
    given = {names[0]: x, **{k: v for k, v in ctx.args.items() if k in names[1:]}}
    return ctx.apply(ctx.target, **given)
