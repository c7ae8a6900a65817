"""Import rules of indexing by tensors."""

from __future__ import annotations

from math import prod

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.ir import DType, Tensor
from spirloom.sizes import broadcast_shapes
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import imports
from spirloom.torch.rules.selection import select_true
from spirloom.torch.values import Item, is_value

MAX_INDICES = 3  # maximum number of index tensors of the operators


@imports("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(ctx: CallContext) -> Item:
    """x[…, i, j, …]"""
    x = ctx.value("self")
    items = ctx.args.get("indices")
    if isinstance(items, tuple) and len(items) == 1 and is_value(items[0]):
        (mask,) = items
        if _is_mask(mask) and not (isinstance(x, np.ndarray) and isinstance(mask, np.ndarray)):
            return select_true(ctx, x, mask)
    dims, given = _indices(ctx, x)
    if not given:
        return x
    if isinstance(x, np.ndarray) and all(isinstance(i, np.ndarray) for i in given):
        return _constant_result(ctx, x)
    x, dim, moved = _adjacent(ctx, x, dims)
    if len(given) > MAX_INDICES and dim == 0:
        index = _index_rows(ctx, given)
        return ctx.apply("spirloom.gather_nd", x=x, index=index)
    _check_count(given)
    indices = {f"index{i}": value for i, value in enumerate(given)}
    result = ctx.typed("spirloom.index_nd", x=x, **indices, dim=dim)
    assert not moved or dim == 0
    is_stated = bool(ctx.shapes) and ctx.shapes[0] is not None  # unless it depends on the data
    return ctx.view(result, ctx.shape()) if is_stated else result


def _check_count(given: list[Value]) -> None:
    if len(given) > MAX_INDICES:
        raise Unsupported(
            f"it has {len(given)} indices after other dimensions; at most {MAX_INDICES} are "
            "supported"
        )


def _constant_result(ctx: CallContext, x: np.ndarray[Item, Item]) -> Value:
    indices = tuple(slice(None) if i is None else i for i in ctx.args["indices"])
    try:
        return np.asarray(x[indices])
    except IndexError as error:
        raise Unsupported(f"its constant inputs do not match: {error}") from error


def _indices(ctx: CallContext, x: Value) -> tuple[list[int], list[Value]]:
    """The indexed dimensions and their index tensors."""
    items = ctx.args.get("indices")
    if not isinstance(items, tuple):
        raise Unsupported("its indices are not a list of tensors")
    dims = [i for i, item in enumerate(items) if item is not None]
    given = [items[i] for i in dims]
    for item in given:
        if _is_mask(item) and not (isinstance(x, np.ndarray) and isinstance(item, np.ndarray)):
            raise Unsupported(
                "it selects the elements where a mask is true: their number depends on the data"
            )
    return dims, given


def _is_mask(index: Value) -> bool:
    if isinstance(index, Tensor):
        return index.dtype is DType.B8
    return index.dtype == np.bool_


def _index_rows(ctx: CallContext, given: list[Value]) -> Value:
    """The index tuples as rows of one tensor."""
    shape = broadcast_shapes(*(value.shape for value in given))
    parts = []
    for value in given:
        index = ctx.cast(value, np.dtype(np.int64))
        expanded = index if index.shape == shape else ctx.inner("aten.expand", index, shape)
        parts.append(ctx.view(expanded, (*shape, 1)))
    return ctx.inner("aten.cat", tuple(parts), dim=len(shape))


def _adjacent(ctx: CallContext, x: Value, dims: list[int]) -> tuple[Value, int, bool]:
    """Permutes nonadjacent indexed dimensions to the front, as NumPy and torch do."""
    if dims == list(range(dims[0], dims[0] + len(dims))):
        return x, dims[0], False
    rest = [d for d in range(len(x.shape)) if d not in dims]
    return ctx.permute(x, [*dims, *rest]), 0, True


@imports("aten.index_put", "aten._unsafe_index_put")
def index_put(ctx: CallContext) -> Item:
    """x with elements replaced at indices."""
    x, values = ctx.value("self"), ctx.value("values")
    masked = _masked(ctx, x)
    if masked is not None:
        return masked
    dims, given = _indices(ctx, x)
    if not given:
        return ctx.cast(values, ctx.out_dtype())
    moved_x, dim, moved = _adjacent(ctx, x, dims)
    points = broadcast_shapes(*(value.shape for value in given))
    inner = moved_x.shape[dim + len(dims) :]
    wanted = (*moved_x.shape[:dim], *points, *inner)
    src = ctx.cast(values, ctx.out_dtype())
    if src.shape != wanted:
        src = ctx.inner("aten.expand", src, wanted)
    args: dict[str, object]
    many = len(given) > MAX_INDICES and dim == 0
    if many:
        reduce = "sum" if ctx.flag("accumulate") else "none"
        op = "spirloom.scatter_nd"
        args = {"index": _index_rows(ctx, given), "reduce": reduce}
    elif len(given) == 1 and len(points) == 1 and not ctx.flag("accumulate"):
        op = "aten.index_copy"  # updates a KV cache in place
        args = {"index": given[0], "dim": dim}
    else:
        _check_count(given)
        op = "spirloom.index_put"
        args = {f"index{i}": value for i, value in enumerate(given)}
        args |= {"dim": dim, "accumulate": ctx.flag("accumulate")}
    result = ctx.typed(op, x=moved_x, **args, src=src)
    if moved:
        order = [*dims, *(d for d in range(len(x.shape)) if d not in dims)]
        result = ctx.permute(result, [order.index(d) for d in range(len(order))])
    return result


def _masked(ctx: CallContext, x: Value) -> Value | None:
    """x[mask] = scalar as a `where`; None for other calls."""
    items = ctx.args.get("indices")
    values = ctx.value("values")
    if not isinstance(items, tuple) or len(items) != 1 or prod(values.shape) != 1:
        return None
    mask = items[0]
    if isinstance(mask, Tensor) and str(mask.dtype) == "b8" and mask.shape == x.shape:
        src = ctx.view(ctx.cast(values, ctx.out_dtype()), ())
        return ctx.apply("aten.where.self", condition=mask, a=src, b=x)
    return None


@imports("aten.index_select", "aten.gather")
def pick(ctx: CallContext) -> Item:
    """Selects elements along a dimension."""
    x = ctx.value("self")
    dim = ctx.axis("dim", len(x.shape))
    return ctx.apply(ctx.target, x=x, dim=dim, index=ctx.value("index"))


@imports("aten.scatter.value", "aten.scatter.src")
def scatter(ctx: CallContext) -> Item:
    """Writes elements along a dimension, one for each index."""
    x, index = ctx.value("self"), ctx.value("index")
    dim = ctx.axis("dim", len(x.shape))
    if ctx.target == "aten.scatter.value":
        value = ctx.cast(ctx.args["value"], ctx.out_dtype())
        src = ctx.inner("aten.expand", value, index.shape)
    else:
        src = ctx.value("src")
    return ctx.apply("aten.scatter.src", x=x, dim=dim, index=index, src=src)
