"""Gather and scatter. PyTorch's operators along one dim accept no negative indices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from tests.reference.counterparts.reductions import each, merged_runs, sorted_runs


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


def _point_targets(
    i: Any, j: Any, k: Any, sizes: list[int], count: int, stride: int, packed: bool
) -> Any:
    """The dense target of each point, one row per row of points; 2^31 - 1 if out of range."""
    given = (
        i.reshape(-1, len(sizes)).T if packed else [t.flatten() for t in (i, j, k)[: len(sizes)]]
    )
    inside = torch.ones_like(given[0], dtype=torch.bool)
    target = torch.zeros_like(given[0])
    for index, size in zip(given, sizes, strict=True):
        inside &= (index >= -size) & (index < size)
        target = target * size + index % size
    target = torch.where(inside, target, torch.full_like(target, 2**31 - 1))
    return target.reshape(-1, count, stride).transpose(1, 2).reshape(-1, count)


def _last_points(i: Any, j: Any, k: Any, sizes: list[int], *rest: Any) -> Any:
    """A maximum of points scattered to their targets; the last column is for those out of range."""
    rows = _point_targets(i, j, k, sizes, *rest)
    targets = math.prod(sizes)
    points = torch.arange(rows.shape[1]).expand_as(rows)
    y = torch.full((len(rows), targets + 1), -1, dtype=torch.int64)
    return y.scatter_reduce(1, rows.clamp(max=targets), points, "amax")[:, :targets]


def _scatter_sums(
    src: Any, i: Any, j: Any, k: Any, sizes: list[int], count: int, inner: int, packed: bool,
    single: bool,
) -> Any:  # fmt: skip
    """Sums of the blocks of 256 of the sorted points that have one target; 0 of others."""
    targets, order = _point_targets(i, j, k, sizes, count, 1, packed).sort(dim=1, stable=True)
    values = src.expand(1, count, 1) if single else src.reshape(-1, count, inner)
    values = values[:, order[0]]
    sums = [block.sum(1) for block in values.split(256, 1)]
    whole = [len(t) == 256 and bool((t == t[0]).all()) for t in targets[0].split(256)]
    kept = zip(sums, whole, strict=True)
    return torch.stack([s if is_whole else torch.zeros_like(s) for s, is_whole in kept], 1)


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
    "spirloom.strided_store": lambda x, src, stride, offset: torch.as_strided_scatter(
        x, src, src.shape, stride, offset
    ),
    "spirloom.gather_nd": _gather_nd,
    "spirloom.last_points": _last_points,
    "spirloom.scatter_blocks": lambda *args: sorted_runs(_point_targets(*args), 1024),
    "spirloom.scatter_order": lambda *args: merged_runs(_point_targets(*args)),
    "spirloom.scatter_nd": _scatter_nd,
    "spirloom.scatter_sums": lambda src, *args: _scatter_sums(
        src.double() if src.is_floating_point() else src, *args
    ),
}
