"""Gather and scatter. PyTorch's operators along one dim accept no negative indices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from tests.reference.counterparts.reductions import each


def _nonnegative(index: Any, size: int) -> Any:
    return torch.where(index < 0, index + size, index)


def _at(x: Any, dim: int, *indices: Any) -> tuple[Any, ...]:
    given = (index for index in indices if index is not None)
    return (*[slice(None)] * (dim % x.ndim), *given)


def _along(dim: int, shape: tuple[int, ...]) -> Any:
    """The indices along one dim of a shape, broadcastable to the shape."""
    return torch.arange(shape[dim]).reshape(-1, *[1] * (len(shape) - dim - 1))


def _index_put(x: Any, i: Any, j: Any, k: Any, src: Any, dim: int, accumulate: bool) -> Any:
    """index_put with explicit indices of the dims before `dim`."""
    given = [index for index in (i, j, k) if index is not None]
    points = (*x.shape[: dim % x.ndim], *given[0].shape)
    lead = (_along(d, points) for d in range(dim % x.ndim))
    return torch.index_put(x, (*lead, *given), src, accumulate)


def _scatter_nd(x: Any, index: Any, src: Any, reduce: str) -> Any:
    """A scatter of rows over the flattened indexed dims."""
    used = index.shape[-1]
    strides = torch.tensor([math.prod(x.shape[d + 1 : used]) for d in range(used)])
    sizes = torch.tensor(x.shape[:used])
    rows = (torch.where(index < 0, index + sizes, index) * strides).sum(-1).reshape(-1, 1)
    flat = x.reshape(math.prod(x.shape[:used]), -1)
    rows = rows.expand(-1, flat.shape[1])
    values = src.reshape(rows.shape)
    if reduce == "none":
        return flat.scatter(0, rows, values).reshape(x.shape)
    if x.dtype == torch.bool:  # PyTorch does not reduce booleans
        return _scatter_nd(x.int(), index, src.int(), reduce).bool()
    return flat.scatter_reduce(0, rows, values, reduce).reshape(x.shape)


def _gather_nd(x: Any, index: Any, batch_dims: int) -> Any:
    """Indexing by one tensor per coordinate and per batch dim."""
    points = index.shape[:-1]
    batch = (_along(d, points) for d in range(batch_dims))
    return x[(*batch, *index.unbind(-1))]


COUNTERPARTS: dict[str, Callable[..., Any]] = {
    "aten.gather": lambda x, dim, index: torch.gather(x, dim, _nonnegative(index, x.shape[dim])),
    "spirloom.tied_embedding": lambda weight, index: weight[index],
    "spirloom.index_nd": lambda x, i, j, k, dim: x[_at(x, dim, i, j, k)],
    "aten.index_add": lambda x, dim, index, src, alpha: torch.index_add(
        x, dim, index, src, alpha=alpha
    ),
    "spirloom.index_put": _index_put,
    "aten.index_select": lambda x, dim, index: torch.index_select(
        x, dim, _nonnegative(index, x.shape[dim])
    ),
    "aten.one_hot": lambda x, classes: torch.nn.functional.one_hot(x.long(), classes),
    "aten.repeat_interleave.self_int": lambda x, repeats, dim: torch.repeat_interleave(
        x, repeats, *dim
    ),
    "aten.scatter_reduce.two": lambda x, dim, index, src, reduce, include_self: (
        torch.scatter_reduce(x, dim, index, src, reduce, include_self=include_self)
    ),
    "aten.squeeze.dims": each(torch.squeeze),
    "spirloom.gather_nd": _gather_nd,
    "spirloom.scatter_nd": _scatter_nd,
}
