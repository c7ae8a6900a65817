"""Attention and rotary embeddings over heads: what the operators of several domains share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.matmul import product


def to_heads(ctx: NodeContext, x: Tensor, heads: int) -> Tensor:
    """[batch, position, heads · size] as [batch, head, position, size]."""
    batch, positions, width = x.shape
    if heads < 1 or width % heads:
        raise Unsupported(f"the {width} columns of {x} do not split into {heads} heads")
    parts = ctx.build.view(x, [batch, positions, heads, width // heads])
    return ctx.build.permute(parts, [0, 2, 1, 3])


def from_heads(ctx: NodeContext, x: Tensor) -> Tensor:
    """[batch, head, position, size] as [batch, position, heads · size]."""
    batch, heads, positions, size = x.shape
    return ctx.build.view(ctx.build.permute(x, [0, 2, 1, 3]), [batch, positions, heads * size])


@dataclass(frozen=True, slots=True)
class Attending:
    """softmax(cap(query keyᵀ scale) + mask) value, heads of key and value shared.

    Of a query whose keys are all masked it is 0.
    A query that stands at i sees keys 0 to i + `before` if causal. A scale of 0 is that of
    PyTorch and ONNX, a cap of 0 none.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None = None
    is_causal: bool = False
    before: int = 0
    scale: float = 0.0
    cap: float = 0.0

    def run(self, ctx: NodeContext) -> Tensor:
        """The result, by the kernel for it where that computes the same."""
        if self.cap:
            return self.decomposed(ctx)[2]
        this = self if self._plainly_causal else self._masked(ctx)
        return ctx.build.emit(
            "aten.scaled_dot_product_attention",
            query=this.query,
            key=this.key,
            value=this.value,
            attn_mask=this.mask,
            is_causal=this.is_causal,
            scale=this.scale,
        )

    def decomposed(self, ctx: NodeContext) -> tuple[Tensor, Tensor, Tensor]:
        """The products of query and key, their softmax, and the result."""
        this = self._masked(ctx)
        sharing = self.query.shape[1] // max(self.key.shape[1], 1)
        key, value = (_repeated(ctx, x, sharing) for x in (self.key, self.value))
        products = product(ctx, self.query, ctx.build.permute(key, [0, 1, 3, 2]))
        products = ctx.build.mul(products, self.scale or self.query.shape[-1] ** -0.5)
        scores = products
        if self.cap:
            bent = ctx.build.emit("aten.tanh", x=ctx.build.mul(scores, 1 / self.cap))
            scores = ctx.build.mul(bent, self.cap)
        if this.mask is not None:
            scores = ctx.build.add(scores, this.mask)
        weights = ctx.build.emit("aten._safe_softmax", x=scores, dim=3)
        return products, weights, product(ctx, weights, value)

    @property
    def _plainly_causal(self) -> bool:
        return not self.is_causal or (self.mask is None and self.before == 0)

    def _masked(self, ctx: NodeContext) -> Attending:
        """The same with its causality as part of the mask."""
        if not self.is_causal:
            return self
        queries, keys = self.query.shape[2], self.key.shape[2]
        ctx.check_size((queries, keys), self.query.dtype.numpy.itemsize)
        seen = np.tri(queries, keys, self.before, dtype=np.bool_)
        causal = ctx.build.constant(np.where(seen, 0, -inf).astype(self.query.dtype.numpy))
        mask = causal if self.mask is None else ctx.build.add(self.mask, causal)
        return replace(self, mask=mask, is_causal=False)


def _repeated(ctx: NodeContext, x: Tensor, times: int) -> Tensor:
    if times == 1:
        return x
    return ctx.build.emit("aten.repeat_interleave.self_int", x=x, repeats=times, dim=1)


def additive(ctx: NodeContext, mask: Tensor, dtype: DType, hidden: float = -inf) -> Tensor:
    """A mask as it is added to scores: where one of truth is false, `hidden`."""
    if mask.dtype is not DType.B8:
        return mask
    zero, off = ctx.build.scalar(0, dtype), ctx.build.scalar(hidden, dtype)
    return ctx.build.emit("aten.where.self", condition=mask, a=zero, b=off)


@dataclass(frozen=True, slots=True)
class Rotation:
    """The angles of a rotary embedding: cosines and sines of rows, which `positions` picks.

    Without positions they are [position, pair] or [batch, position, pair].
    """

    cos: Value
    sin: Value
    positions: Value | None = None
    interleaved: bool = False

    def turn(self, ctx: NodeContext, x: Tensor) -> Tensor:
        """x, [batch, head, position, size], turned; what is beyond the pairs stays as it is."""
        batch, _, length, size = x.shape
        cos, sin = (self._angles(ctx, table, batch, length) for table in (self.cos, self.sin))
        pairs = cos.shape[-1]
        if 2 * pairs > size:
            raise Unsupported(f"{pairs} pairs of angles do not fit heads of size {size}")
        rest = ctx.build.slice(x, 3, 2 * pairs, size) if 2 * pairs < size else None
        turned = ctx.build.slice(x, 3, 0, 2 * pairs)
        if len(cos.shape) == 3:  # the same for all heads
            cos, sin = (ctx.build.view(t, [batch, 1, length, pairs]) for t in (cos, sin))
        y = ctx.build.emit(
            "spirloom.rotary_embedding",
            x=turned,
            cos=cos,
            sin=sin,
            interleaved=self.interleaved,
        )
        return y if rest is None else ctx.build.cat([y, rest], 3)

    def _angles(self, ctx: NodeContext, table: Value, batch: int, length: int) -> Tensor:
        """[position, pair], or [batch, position, pair] where batches differ."""
        picked = self._picked(ctx, table)
        shape = picked.shape
        expected = (batch, length), (1, length), (length,)
        if shape[:-1] not in expected:
            raise Unsupported(
                f"angles for {list(shape[:-1])} do not fit batch {batch} and {length} positions"
            )
        return picked if shape[0] == batch > 1 and len(shape) == 3 else _last_two(ctx, picked)

    def _picked(self, ctx: NodeContext, table: Value) -> Tensor:
        if self.positions is None:
            return ctx.lifted(table)
        if isinstance(table, Tensor) or isinstance(self.positions, Tensor):
            rows, index = ctx.lifted(table), ctx.lifted(self.positions)
            return ctx.build.emit("aten.embedding", x=rows, index=index)
        return ctx.lifted(rows_of(ctx, table, self.positions))


def _last_two(ctx: NodeContext, x: Tensor) -> Tensor:
    return ctx.build.view(x, x.shape[-2:])


def rows_of(ctx: NodeContext, table: Array, positions: Array) -> Array:
    """The rows of a constant table at constant positions; batches that are alike become one."""
    whole = positions.astype(np.int64)
    if whole.size and not 0 <= whole.min() <= whole.max() < len(table):
        raise Unsupported(f"a position is not one of the {len(table)} rows of its table")
    if whole.ndim == 2 and len(whole) > 1 and (whole == whole[0]).all():
        whole = whole[:1]
    ctx.check_size((*whole.shape, *table.shape[1:]), table.itemsize)
    return np.asarray(table[whole])
