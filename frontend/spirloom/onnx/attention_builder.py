"""Attention and rotary embeddings by heads, shared by the converters of several domains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from math import inf

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.matmul import matmul_of
from spirloom.sizes import is_symbolic


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
class Attention:
    """softmax(softcap(query · keyᵀ · scale) + mask) · value, with grouped key and value heads.

    The result is 0 for a query whose keys are all masked. `key_lengths` [batch] are the numbers of
    keys, if others follow. The position of query i is i + `past_length`, or such that the last
    query is at the last of these keys. With `is_causal`, queries attend to keys up to their
    position; `window` is how many keys before and after it, -1 for all. `scale` 0 is the default,
    1 / √head size. `softcap` 0 disables logit soft-capping.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None = None
    is_causal: bool = False
    past_length: int = 0
    scale: float = 0.0
    softcap: float = 0.0
    key_lengths: Tensor | None = None
    window: tuple[int, int] = (-1, -1)

    def emit(self, ctx: NodeContext) -> Tensor:
        """Emits fused attention. Soft-capping requires the decomposed form."""
        if self.softcap:
            return self.emit_decomposed(ctx)[2]
        this = self if self._fuses_causality else self._masked(ctx)
        return ctx.build.emit(
            "aten.scaled_dot_product_attention",
            query=this.query,
            key=this.key,
            value=this.value,
            attn_mask=this.mask,
            is_causal=this.is_causal,
            scale=this.scale,
        )

    def emit_decomposed(self, ctx: NodeContext) -> tuple[Tensor, Tensor, Tensor]:
        """Emits matmuls and a softmax. Returns the scaled query · keyᵀ, the weights, and the
        result.
        """
        this = self._masked(ctx)
        group = self.query.shape[1] // max(self.key.shape[1], 1)
        key, value = (_repeated(ctx, x, group) for x in (self.key, self.value))
        scores = matmul_of(ctx, self.query, ctx.build.permute(key, [0, 1, 3, 2]))
        products = ctx.build.mul(scores, self.scale or self.query.shape[-1] ** -0.5)
        scores = products
        if self.softcap:
            scaled = ctx.build.mul(scores, 1 / self.softcap)
            scores = ctx.build.mul(ctx.build.emit("aten.tanh", x=scaled), self.softcap)
        if this.mask is not None:
            scores = ctx.build.add(scores, this.mask)
        weights = ctx.build.emit("aten._safe_softmax", x=scores, dim=3)
        return products, weights, matmul_of(ctx, weights, value)

    @property
    def _fuses_causality(self) -> bool:
        bounded = self.window != (-1, -1) or self.key_lengths is not None
        return not bounded and (not self.is_causal or (self.mask is None and self.past_length == 0))

    def _masked(self, ctx: NodeContext) -> Attention:
        """Adds causality, window and key lengths to the mask."""
        before, after = self.window
        if self.is_causal:
            after = 0
        if (before, after) == (-1, -1) and self.key_lengths is None:
            return self
        added = self._added_mask(ctx, before, after)
        mask = added if self.mask is None else ctx.build.add(self.mask, added)
        return replace(self, mask=mask, is_causal=False, key_lengths=None, window=(-1, -1))

    def _added_mask(self, ctx: NodeContext, before: int, after: int) -> Tensor:
        """The additive mask of keys so far from a query's position, -1 for any distance."""
        queries, keys, past = self.query.shape[2], self.key.shape[2], self.past_length
        if self.key_lengths is not None or is_symbolic((queries, keys, past)):
            return additive_mask(ctx, self._visible(ctx, before, after), self.query.dtype)
        ctx.check_size((queries, keys), self.query.dtype.numpy.itemsize)
        distance = np.arange(keys) - np.arange(queries)[:, None] - past
        visible = np.ones(distance.shape, np.bool_)
        if before >= 0:
            visible &= distance >= -before
        if after >= 0:
            visible &= distance <= after
        return ctx.build.constant(np.where(visible, 0, -inf).astype(self.query.dtype.numpy))

    def _visible(self, ctx: NodeContext, before: int, after: int) -> Tensor:
        """As _added_mask(), a boolean mask of positions that are computed on the device."""
        build, queries = ctx.build, self.query.shape[2]
        index, past = ctx.arange(self.key.shape[2]), ctx.size(self.past_length)
        conditions = []
        if self.key_lengths is not None:
            ends = build.view(self.key_lengths, (self.key_lengths.shape[0], 1, 1, 1))
            past = build.emit("aten.sub.Tensor", a=ends, b=ctx.size(queries))
            conditions.append(("lt", index, ends))
        position = build.add(build.view(ctx.arange(queries), (queries, 1)), past)
        distance = build.emit("aten.sub.Tensor", a=index, b=position)
        if before >= 0:
            conditions.append(("ge", distance, ctx.size(-before)))
        if after >= 0:
            conditions.append(("le", distance, ctx.size(after)))
        visible = [build.emit(f"aten.{op}.Tensor", a=a, b=b) for op, a, b in conditions]
        return reduce(lambda a, b: build.emit("aten.logical_and", a=a, b=b), visible)


def _repeated(ctx: NodeContext, x: Tensor, times: int) -> Tensor:
    if times == 1:
        return x
    return ctx.build.emit("aten.repeat_interleave.self_int", x=x, repeats=times, dim=1)


def additive_mask(ctx: NodeContext, mask: Tensor, dtype: DType, masked: float = -inf) -> Tensor:
    """Converts a boolean mask to one that is added to the scores: `masked` where it is false."""
    if mask.dtype is not DType.B8:
        return mask
    zero, low = ctx.build.scalar(0, dtype), ctx.build.scalar(masked, dtype)
    return ctx.build.emit("aten.where.self", condition=mask, a=zero, b=low)


@dataclass(frozen=True, slots=True)
class RotaryEmbedding:
    """RoPE with given cosines and sines. `positions` are row indices into both tables.

    Without `positions`, the tables have the shape [position, pair] or [batch, position, pair].
    """

    cos: Value
    sin: Value
    positions: Value | None = None
    interleaved: bool = False

    def apply(self, ctx: NodeContext, x: Tensor) -> Tensor:
        """Rotates x, [batch, head, position, size]. Elements after the last pair are copied."""
        batch, _, length, size = x.shape
        cos, sin = (self._angles(ctx, table, batch, length) for table in (self.cos, self.sin))
        pairs = cos.shape[-1]
        if 2 * pairs > size:
            raise Unsupported(f"it has {pairs} pairs of angles for heads of size {size}")
        rest = ctx.build.slice(x, 3, 2 * pairs, size) if 2 * pairs < size else None
        pairwise = ctx.build.slice(x, 3, 0, 2 * pairs)
        if len(cos.shape) == 3:  # broadcast over heads
            cos, sin = (ctx.build.view(t, [batch, 1, length, pairs]) for t in (cos, sin))
        y = ctx.build.emit(
            "spirloom.rotary_embedding",
            x=pairwise,
            cos=cos,
            sin=sin,
            interleaved=self.interleaved,
        )
        return y if rest is None else ctx.build.cat([y, rest], 3)

    def _angles(self, ctx: NodeContext, table: Value, batch: int, length: int) -> Tensor:
        """[position, pair], or [batch, position, pair] if batches differ."""
        rows = self._gathered(ctx, table)
        shape = rows.shape
        expected = (batch, length), (1, length), (length,)
        if shape[:-1] not in expected:
            raise Unsupported(
                f"its angles of shape {list(shape[:-1])} do not fit batch {batch} and {length} "
                "positions"
            )
        return rows if shape[0] == batch > 1 and len(shape) == 3 else _last_two(ctx, rows)

    def _gathered(self, ctx: NodeContext, table: Value) -> Tensor:
        if self.positions is None:
            return ctx.lifted(table)
        if isinstance(table, Tensor) or isinstance(self.positions, Tensor):
            rows, index = ctx.lifted(table), ctx.lifted(self.positions)
            return ctx.build.emit("aten.embedding", x=rows, index=index)
        return ctx.lifted(gathered_rows(ctx, table, self.positions))


def _last_two(ctx: NodeContext, x: Tensor) -> Tensor:
    return ctx.build.view(x, x.shape[-2:])


def gathered_rows(ctx: NodeContext, table: Array, positions: Array) -> Array:
    """The rows of a constant table at constant positions. Equal batches are merged into one."""
    index = positions.astype(np.int64)
    if index.size and not 0 <= index.min() <= index.max() < len(table):
        raise Unsupported(f"a position is not an index of the {len(table)} rows of its table")
    if index.ndim == 2 and len(index) > 1 and (index == index[0]).all():
        index = index[:1]
    ctx.check_size((*index.shape, *table.shape[1:]), table.itemsize)
    return np.asarray(table[index])
