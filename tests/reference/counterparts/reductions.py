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
}
