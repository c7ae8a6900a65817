"""Attention reads shared heads without repeating them, and constant masks are removed."""

from __future__ import annotations

import numpy as np
import pytest
from spirloom.builder import Builder
from spirloom.ir import Array, Tensor
from spirloom.op_library import OpLibrary

from tests.frontend.models import ops
from tests.frontend.test_transformer_passes import ATTENTION, optimized

Q, KV = (2, 6, 5, 8), (2, 3, 5, 8)


def repeated(build: Builder, x: Tensor, times: int, how: str) -> Tensor:
    """Each head, repeated."""
    batch, heads, length, size = x.shape
    if how == "repeat":
        op = "aten.repeat_interleave.self_int"
        return build.emit(op, x=x, repeats=times, dim=(1,))
    lifted = (
        build.emit("aten.unsqueeze", x=x, dim=2)
        if how == "unsqueeze"
        else build.view(x, (batch, heads, 1, length, size))
    )
    wide = build.emit("aten.expand", x=lifted, size=(batch, heads, times, length, size))
    return build.view(wide, (batch, heads * times, length, size))


def attend(build: Builder, q: Tensor, k: Tensor, v: Tensor, mask: Array | None = None) -> Tensor:
    given = None if mask is None else build.constant(mask.astype(np.float32))
    return build.emit(ATTENTION, query=q, key=k, value=v, attn_mask=given)


@pytest.mark.parametrize("how", ["unsqueeze", "view", "repeat"])
def test_repeated_heads_are_shared(library: OpLibrary, how: str) -> None:
    def make(build: Builder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = (repeated(build, x, 2, how) for x in (k, v))
        return attend(build, q, k, v)

    graph = optimized(library, make, Q, KV, KV)
    assert ops(graph) == [ATTENTION] and graph.nodes[0].args[1] is graph.inputs[1]


def test_the_one_head_of_all(library: OpLibrary) -> None:
    def make(build: Builder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = (build.emit("aten.expand", x=x, size=(2, 6, 5, 8)) for x in (k, v))
        return attend(build, q, k, v)

    assert ops(optimized(library, make, Q, (2, 1, 5, 8), (2, 1, 5, 8))) == [ATTENTION]


def test_tiled_heads_are_not_shared(library: OpLibrary) -> None:
    """0 1 2 0 1 2 differs from 0 0 1 1 2 2. A key shared by more heads than its value is not
    supported.
    """

    def in_turns(build: Builder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = (build.cat([x, x], 1) for x in (k, v))
        return attend(build, q, k, v)

    def keys_alone(build: Builder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attend(build, q, repeated(build, k, 2, "unsqueeze"), v)

    assert "aten.cat" in ops(optimized(library, in_turns, Q, KV, KV))
    assert "aten.expand" in ops(optimized(library, keys_alone, Q, KV, Q))


@pytest.mark.parametrize("hidden", [-np.inf, np.finfo(np.float32).min])
@pytest.mark.parametrize("leading", [(), (1, 1), (2, 1), (2, 6)])
def test_a_causal_mask_needs_no_tensor(
    library: OpLibrary, hidden: float, leading: tuple[int, ...]
) -> None:
    mask = np.broadcast_to(np.where(np.tri(5, dtype=bool), 0, hidden), (*leading, 5, 5))
    graph = optimized(library, lambda b, q, k, v: attend(b, q, k, v, mask), Q, Q, Q)
    (node,) = graph.nodes
    assert library.arg(node, "is_causal") and library.arg(node, "attn_mask") is None


def test_masks_without_effect_are_removed(library: OpLibrary) -> None:
    mask = np.zeros((5, 7))
    keys = (2, 6, 7, 8)
    graph = optimized(library, lambda b, q, k, v: attend(b, q, k, v, mask), Q, keys, keys)
    assert library.arg(graph.nodes[0], "attn_mask") is None
    assert not library.arg(graph.nodes[0], "is_causal")


def test_other_masks_are_kept(library: OpLibrary) -> None:
    seen = np.tri(5, dtype=bool)
    window = seen & ~np.tri(5, k=-3, dtype=bool)
    later = np.where(np.tri(5, 7, 2, dtype=bool), 0, -np.inf)  # the last queries of more keys
    soft = np.where(seen, 0, -1e4)
    sloped = np.where(seen, -0.5, -np.inf)
    for mask in (np.where(window, 0, -np.inf), later, soft, sloped):
        keys = (2, 6, mask.shape[1], 8)
        graph = optimized(library, lambda b, q, k, v, m=mask: attend(b, q, k, v, m), Q, keys, keys)
        assert library.arg(graph.nodes[0], "attn_mask") is not None
