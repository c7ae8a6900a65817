"""Reductions, scans and sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def each(function: Callable[..., Any]) -> Callable[..., Any]:
    """Applies an operator of one dim to several dims, last to first; to all dims by default."""

    def form(x: Any, dims: list[int], *keepdim: bool) -> Any:
        for dim in sorted((d % x.ndim for d in dims or range(x.ndim)), reverse=True):
            x = function(x, dim, *keepdim)
        return x

    return form


def _moment(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim, correction, keepdim: function(
        x, dim, correction=int(correction), keepdim=keepdim
    )


def _count_nonzero(x: Any, dim: list[int], keepdim: bool) -> Any:
    return torch.sum(x != 0, dim, keepdim)


def safe_softmax(x: Any, dim: int) -> Any:
    """0 where all values along dim are -inf, as torch._safe_softmax of newer releases."""
    masked = (x == -torch.inf).all(dim, True)
    return torch.softmax(x.masked_fill(masked, 0), dim).masked_fill(masked, 0)


def _in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a tensor in double precision, also if the tensor is float16."""
    return lambda x, *args: function(x.double() if x.is_floating_point() else x, *args)


def _parts(rows: Any, splits: int, length: int) -> list[Any]:
    """The parts of [rows, count] or [outer, count, inner], empty ones included."""
    return [rows[:, p * length : (p + 1) * length] for p in range(splits)]


def _row_moments(x: Any, count: int, splits: int) -> Any:
    length = (-(-count // splits) + 3) // 4 * 4
    moments = [
        torch.stack([part.mean(1), part.var(1, correction=0) * part.shape[1]], -1)
        if part.numel()
        else torch.zeros(x.numel() // count, 2, dtype=x.dtype)
        for part in _parts(x.reshape(-1, count), splits, length)
    ]
    return torch.stack(moments, 1)


def _softmax_parts(x: Any, count: int, inner: int, splits: int) -> Any:
    def part_of(part: Any) -> Any:
        if not part.numel():
            top = torch.full((len(part), inner), -torch.inf, dtype=x.dtype)
            return torch.stack([top, torch.zeros_like(top)], -1)
        top = part.amax(1)
        sums = (part - top.nan_to_num(neginf=0.0)[:, None]).exp().sum(1)
        return torch.stack([top, sums], -1)

    rows = x.reshape(-1, count, inner)
    return torch.stack([part_of(part) for part in _parts(rows, splits, -(-count // splits))], 1)


def _partial_reduce(x: Any, count: int, inner: int, splits: int, kind: str) -> Any:
    integral = not x.is_floating_point()
    limits = torch.iinfo(torch.int32) if integral else None
    start = {
        "min": limits.max if limits else torch.inf,
        "max": limits.min if limits else -torch.inf,
        "prod": 1,
        "logaddexp": -torch.inf,
    }.get(kind, 0)
    functions = {"min": torch.amin, "max": torch.amax, "prod": torch.prod}
    function = (functions | {"logaddexp": torch.logsumexp}).get(kind, torch.sum)
    term = {"absolute": torch.abs, "square": torch.square}.get(kind, torch.clone)
    rows = x.reshape(-1, count, inner)
    results = [
        function(term(part), 1).to(x.dtype)
        if part.numel()
        else torch.full((rows.shape[0], inner), start, dtype=x.dtype)
        for part in _parts(rows, splits, -(-count // splits))
    ]
    return torch.stack(results, 1)


def _partial_argmax(x: Any, count: int, inner: int, splits: int, smallest: bool, last: bool) -> Any:
    length = -(-count // splits)
    rows = x.reshape(-1, count, inner)
    function = torch.argmin if smallest else torch.argmax

    def index_of(part: Any) -> Any:
        return part.shape[1] - 1 - function(part.flip(1), 1) if last else function(part, 1)

    results = [
        index_of(part) + p * length
        if part.numel()
        else torch.full((rows.shape[0], inner), count - 1)
        for p, part in enumerate(_parts(rows, splits, length))
    ]
    return torch.stack(results, 1)


def _top_of_lists(rows: Any, lists: Any, k: int, largest: bool) -> Any:
    """Indices of the first k elements of each part of 1024; `count` where there are fewer."""
    count = rows.shape[1]
    padded = torch.cat([rows, rows.new_zeros(len(rows), 1)], 1)
    results = []
    for part in lists.split(1024, 1):
        ascending = part.sort(1).values  # equal elements are ordered by index
        values = padded.gather(1, ascending)
        order = torch.sort(values, dim=1, descending=largest, stable=True).indices
        in_order = ascending.gather(1, order)
        missing = in_order == count
        last = torch.sort(missing.to(torch.int8), dim=1, stable=True).indices
        in_order = in_order.gather(1, last)
        filler = torch.full((len(rows), max(k - part.shape[1], 0)), count)
        results.append(torch.cat([in_order[:, :k], filler], 1))
    return torch.cat(results, 1)


def _topk_parts(x: Any, count: int, stride: int, k: int, largest: bool) -> Any:
    rows = x.reshape(-1, count, stride).transpose(1, 2).reshape(-1, count)
    return _top_of_lists(rows, torch.arange(count).repeat(len(rows), 1), k, largest)


def _topk_parts_refined(x: Any, count: int, stride: int, k: int, largest: bool) -> Any:
    rows = x.reshape(-1, count, stride).transpose(1, 2).reshape(-1, count)
    return _top_of_lists(rows, _topk_parts(x, count, stride, k, largest), k, largest)


def sorted_runs(keys: Any, run: int) -> Any:
    """Keys of rows and their indices, [2, rows * count], sorted stably in runs."""
    parts = [torch.sort(part, dim=1, stable=True) for part in keys.split(run, 1)]
    order = [part.indices + p * run for p, part in enumerate(parts)]
    values = torch.cat([part.values for part in parts], 1)
    return torch.stack([values.flatten(), torch.cat(order, 1).flatten()])


def merged_runs(keys: Any) -> Any:
    """The sorted keys and indices, and those before the last merge of at least two."""
    run = 2048
    while run < keys.shape[1] or run < 4096:
        run *= 2
    return torch.stack([sorted_runs(keys, run), sorted_runs(keys, run // 2)])


def _sort_keys(x: Any, count: int, stride: int, descending: bool) -> Any:
    """Integers in the order of x's elements, one row per sorted row."""
    rows = x.reshape(-1, count, stride).transpose(1, 2).reshape(-1, count)
    if rows.is_floating_point():
        bits = (rows.float() + 0.0).view(torch.int32)  # -0 + 0 is 0
        order = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
        rows = torch.where(torch.isnan(rows), torch.full_like(order, 2**31 - 1), order)
    keys = rows.long()
    return -1 - keys if descending else keys


COUNTERPARTS: dict[str, Callable[..., Any]] = {
    "aten._log_softmax": torch.log_softmax,
    "aten._safe_softmax": safe_softmax,
    "aten._softmax": torch.softmax,
    "aten.all.dims": each(lambda x, dim, keepdim: torch.all(x != 0, dim, keepdim)),
    "aten.any.dims": each(lambda x, dim, keepdim: torch.any(x != 0, dim, keepdim)),
    "aten.argmax": lambda x, dim, keepdim: torch.argmax(x, *dim or (None,), keepdim=keepdim),
    "aten.argmin": lambda x, dim, keepdim: torch.argmin(x, *dim or (None,), keepdim=keepdim),
    "aten.count_nonzero.dim_IntList": _count_nonzero,
    "aten.linalg_vector_norm": lambda x, order, dim, keepdim: torch.linalg.vector_norm(
        x, order, dim or None, keepdim
    ),
    "aten.prod.dim_int": each(torch.prod),
    "aten.sort": lambda x, dim, descending: torch.sort(
        x, dim=dim, descending=descending, stable=True
    ),
    "aten.std.correction": _moment(torch.std),
    # PyTorch's topk does not define the order of equal elements.
    "aten.topk": lambda x, k, dim, largest: [
        y.narrow(dim, 0, k) for y in torch.sort(x, dim=dim, descending=largest, stable=True)
    ],
    "aten.var.correction": _moment(torch.var),
    "spirloom.partial_argmax": _partial_argmax,
    "spirloom.partial_reduce": _in_double(_partial_reduce),
    "spirloom.row_moments": _in_double(_row_moments),
    "spirloom.softmax_parts": _in_double(_softmax_parts),
    "spirloom.sort_blocks": lambda *args: sorted_runs(_sort_keys(*args), 1024),
    "spirloom.sort_order": lambda *args: merged_runs(_sort_keys(*args)),
    "spirloom.topk_parts": _topk_parts,
    "spirloom.topk_parts_refined": _topk_parts_refined,
}
