"""Decomposed rotary embeddings are fused into one operator, with constant or computed
angles.
"""

from __future__ import annotations

import numpy as np
import pytest
from spirloom.builder import Builder
from spirloom.ir import Tensor
from spirloom.op_library import OpLibrary

from tests.frontend.models import ops, random
from tests.frontend.test_transformer_passes import ROTARY, optimized

BATCH, HEADS, LENGTH, SIZE = 2, 3, 5, 8
X = (BATCH, HEADS, LENGTH, SIZE)


def parts(build: Builder, x: Tensor, interleaved: bool, viewed: bool) -> tuple[Tensor, Tensor]:
    """The first and the second elements of the pairs."""
    half, last = x.shape[-1] // 2, len(x.shape) - 1
    if viewed:
        shape = (half, 2) if interleaved else (2, half)
        grouped = build.view(x, (*x.shape[:-1], *shape))
        dim = last + 1 if interleaved else last
        one, two = (build.emit("aten.select.int", x=grouped, dim=dim, index=i) for i in (0, 1))
        return one, two
    if interleaved:
        return build.slice(x, last, 0, 2 * half, 2), build.slice(x, last, 1, 2 * half, 2)
    return build.slice(x, last, 0, half), build.slice(x, last, half, 2 * half)


def join(build: Builder, first: Tensor, second: Tensor, interleaved: bool) -> Tensor:
    """Rows with these pairs."""
    last = len(first.shape) - 1
    if not interleaved:
        return build.cat([first, second], last)
    stacked = build.cat([build.view(t, (*t.shape, 1)) for t in (first, second)], last + 1)
    return build.view(stacked, (*first.shape[:-1], 2 * first.shape[-1]))


def by_tables(
    build: Builder, x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool, viewed: bool
) -> Tensor:
    """x · cos + (-x₂, x₁) · sin"""
    first, second = parts(build, x, interleaved, viewed)
    swapped = join(build, build.emit("aten.neg", x=second), first, interleaved)
    return build.add(build.mul(x, cos), build.mul(swapped, sin))


def by_parts(
    build: Builder, x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool, viewed: bool
) -> Tensor:
    """(x₁ · cos - x₂ · sin, x₂ · cos + x₁ · sin)"""
    first, second = parts(build, x, interleaved, viewed)
    a, b = build.mul(first, cos), build.mul(second, sin)
    rotated = build.emit("aten.sub.Tensor", a=a, b=b)
    return join(
        build, rotated, build.add(build.mul(first, sin), build.mul(second, cos)), interleaved
    )


@pytest.mark.parametrize("viewed", [False, True])
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_of_tables_for_pairs(
    library: OpLibrary, interleaved: bool, viewed: bool, known: bool
) -> None:
    def make(build: Builder, x: Tensor, *given: Tensor) -> Tensor:
        made = [build.constant(random(LENGTH, SIZE // 2, seed=s)) for s in (5, 6)]
        cos, sin = given or made
        return by_parts(build, x, cos, sin, interleaved, viewed)

    shapes = [] if known else [(BATCH, 1, LENGTH, SIZE // 2)] * 2
    graph = optimized(library, make, X, *shapes)
    assert ops(graph) == [ROTARY]
    assert library.arg(graph.nodes[0], "interleaved") == interleaved


@pytest.mark.parametrize("viewed", [False, True])
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_of_tables_for_elements(
    library: OpLibrary, interleaved: bool, viewed: bool, known: bool
) -> None:
    """Positions are constant, or an input."""

    def make(build: Builder, x: Tensor, *given: Tensor) -> Tensor:
        steps = 0.5 ** np.arange(SIZE // 2, dtype=np.float32)
        if given:
            angles = build.mul(given[0], build.constant(steps))
            angles = build.emit("aten.unsqueeze", x=join(build, angles, angles, interleaved), dim=1)
            tables = [build.mul(build.emit(f"aten.{f}", x=angles), 1.5) for f in ("cos", "sin")]
        else:
            known = np.arange(LENGTH, dtype=np.float32)[:, None] * steps
            wide = np.repeat(known, 2, 1) if interleaved else np.concatenate([known, known], 1)
            tables = [build.constant(np.cos(wide)), build.constant(np.sin(wide))]
        return by_tables(build, x, tables[0], tables[1], interleaved, viewed)

    shapes = [] if known else [(BATCH, LENGTH, 1)]
    found = ops(optimized(library, make, X, *shapes))
    assert found.count(ROTARY) == 1 and "aten.neg" not in found
    assert found == [ROTARY] or found.count("aten.slice.Tensor") == 2  # of both tables


def test_no_fusion_if_angles_differ_within_pairs(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        return by_tables(build, x, cos, sin, interleaved=False, viewed=False)

    assert ROTARY not in ops(optimized(library, make, X, (LENGTH, SIZE), (LENGTH, SIZE)))


def test_no_fusion_of_mixed_pair_layouts(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        first, second = parts(build, x, interleaved=False, viewed=False)
        a = build.emit("aten.sub.Tensor", a=build.mul(first, cos), b=build.mul(second, sin))
        b = build.add(build.mul(first, sin), build.mul(second, cos))
        return join(build, a, b, interleaved=True)

    assert ROTARY not in ops(optimized(library, make, X, (LENGTH, 4), (LENGTH, 4)))


def test_no_fusion_of_the_inverse_rotation(library: OpLibrary) -> None:
    """(x₁ · cos - x₂ · sin, x₂ · sin + x₁ · cos) is not a rotation."""

    def make(build: Builder, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        first, second = parts(build, x, interleaved=False, viewed=False)
        a = build.emit("aten.sub.Tensor", a=build.mul(first, cos), b=build.mul(second, sin))
        b = build.add(build.mul(first, cos), build.mul(second, sin))
        return join(build, a, b, interleaved=False)

    assert ROTARY not in ops(optimized(library, make, X, (LENGTH, 4), (LENGTH, 4)))
