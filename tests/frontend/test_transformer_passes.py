"""Decomposed patterns of transformers are fused into one operator with equal results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from spirloom.builder import Builder
from spirloom.ir import DType, Graph, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize

from tests.frontend import reference_run
from tests.frontend.models import ops, random

Make = Callable[..., Tensor]
Shape = tuple[int, ...]
ATTENTION = "aten.scaled_dot_product_attention"
ROTARY = "spirloom.rotary_embedding"


def made(library: OpLibrary, make: Make, shapes: list[Shape], dtype: DType = DType.F32) -> Graph:
    graph = Graph([Tensor(f"x{i}", dtype, shape) for i, shape in enumerate(shapes)])
    build = Builder(library, graph)
    build.name = "node"
    graph.outputs = [make(build, *graph.inputs)]
    graph.outputs[0].name = "y"
    return graph


def optimized(
    library: OpLibrary, make: Make, *shapes: Shape, dtype: DType = DType.F32, atol: float = 1e-5
) -> Graph:
    """The graph after the passes. Results must be unchanged."""
    plain, graph = (made(library, make, [*shapes], dtype) for _ in range(2))
    optimize(graph, library)
    inputs = {t.name: random(*t.shape, seed=i).astype(dtype.numpy)
              for i, t in enumerate(graph.inputs)}  # fmt: skip
    given, wanted = (reference_run.run(g, inputs)["y"] for g in (graph, plain))
    np.testing.assert_allclose(given, wanted, rtol=1e-5, atol=atol)
    return graph


def squared(build: Builder, x: Tensor, how: str) -> Tensor:
    if how == "mul":
        return build.mul(x, x)
    return build.emit("aten.pow.Tensor_Scalar", x=x, exponent=2.0)


def divided(build: Builder, x: Tensor, s: Tensor, how: str) -> Tensor:
    """x / √s"""
    match how:
        case "rsqrt":
            return build.mul(x, build.emit("aten.rsqrt", x=s))
        case "power":
            return build.mul(build.emit("aten.pow.Tensor_Scalar", x=s, exponent=-0.5), x)
    root = build.emit("aten.sqrt", x=s)
    match how:
        case "reciprocal":
            return build.mul(x, build.emit("aten.reciprocal", x=root))
        case "one over":
            one = build.scalar(1, x.dtype)
            return build.mul(x, build.emit("aten.div.Tensor", a=one, b=root))
    return build.emit("aten.div.Tensor", a=x, b=root)


def rms(
    build: Builder, x: Tensor, square: str = "pow", quotient: str = "rsqrt", dim: int = -1
) -> Tensor:
    mean = build.emit("aten.mean.dim", x=squared(build, x, square), dim=(dim,), keepdim=True)
    return divided(build, x, build.add(mean, build.scalar(1e-6, x.dtype)), quotient)


@pytest.mark.parametrize("square", ["mul", "pow"])
@pytest.mark.parametrize("quotient", ["rsqrt", "power", "reciprocal", "one over", "div"])
def test_rms_norm_patterns(library: OpLibrary, square: str, quotient: str) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        return build.mul(build.constant(random(6, seed=9)), rms(build, x, square, quotient))

    graph = optimized(library, make, (2, 3, 6))
    assert ops(graph) == ["aten.rms_norm"]
    assert library.arg(graph.nodes[0], "eps") == pytest.approx(1e-6)


def test_rms_norm_of_another_dim_is_not_fused(library: OpLibrary) -> None:
    graph = optimized(library, lambda build, x: rms(build, x, dim=1), (2, 3, 6))
    assert "aten.rms_norm" not in ops(graph)


def test_rms_norm_with_an_input_weight(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor, w: Tensor) -> Tensor:
        return build.mul(w, rms(build, x))

    assert ops(optimized(library, make, (2, 3, 6), (6,))) == ["aten.rms_norm"]


@pytest.mark.parametrize("narrow_first", [False, True])
def test_rms_norm_of_a_half_model_needs_no_casts(library: OpLibrary, narrow_first: bool) -> None:
    """Llama converts to fp16 before multiplying by the weight, Gemma after."""

    def make(build: Builder, x: Tensor) -> Tensor:
        y = rms(build, build.emit("aten._to_copy", x=x, dtype="f32"))
        weight = random(6, seed=9)
        if narrow_first:
            y = build.emit("aten._to_copy", x=y, dtype="f16")
            return build.mul(build.constant(weight.astype(np.float16)), y)
        return build.emit("aten._to_copy", x=build.mul(y, build.constant(weight)), dtype="f16")

    graph = optimized(library, make, (2, 3, 6), dtype=DType.F16, atol=4e-3)
    assert ops(graph) == ["aten.rms_norm"]


@pytest.mark.parametrize("quotient", ["rsqrt", "div"])
def test_layer_norm_of_the_centered_value(library: OpLibrary, quotient: str) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        mean = build.emit("aten.mean.dim", x=x, dim=(2,), keepdim=True)
        return rms(build, build.emit("aten.sub.Tensor", a=x, b=mean), "pow", quotient)

    assert ops(optimized(library, make, (2, 3, 6))) == ["aten.native_layer_norm"]


def test_layer_norm_centered_twice(library: OpLibrary) -> None:
    """As in Cohere's models, where the centered value is computed twice."""

    def centered(build: Builder, x: Tensor) -> Tensor:
        mean = build.emit("aten.mean.dim", x=x, dim=(2,), keepdim=True)
        return build.emit("aten.sub.Tensor", a=x, b=mean)

    def make(build: Builder, x: Tensor) -> Tensor:
        square = squared(build, centered(build, x), "pow")
        mean = build.emit("aten.mean.dim", x=square, dim=(2,), keepdim=True)
        total = build.add(mean, build.scalar(1e-5, x.dtype))
        return divided(build, centered(build, x), total, "rsqrt")

    assert ops(optimized(library, make, (2, 3, 6))) == ["aten.native_layer_norm"]


@pytest.mark.parametrize("factored", [False, True])
def test_gelu_by_a_hyperbolic_tangent(library: OpLibrary, factored: bool) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        if factored:  # √(2/π) x (1 + 0.044715 x x)
            square = build.mul(build.mul(x, 0.044715), x)
            inner = build.mul(
                build.mul(x, 0.7978845608), build.add(square, build.scalar(1, x.dtype))
            )
        else:  # √(2/π) (x + 0.044715 x³)
            cube = build.emit("aten.pow.Tensor_Scalar", x=x, exponent=3.0)
            inner = build.mul(build.add(x, build.mul(cube, 0.044715)), 0.7978845608)
        gate = build.add(build.emit("aten.tanh", x=inner), build.scalar(1, x.dtype))
        return build.mul(build.mul(x, 0.5), gate)

    graph = optimized(library, make, (3, 5))
    assert ops(graph) == ["aten.gelu"] and library.arg(graph.nodes[0], "approximate") == "tanh"


def test_tanh_of_another_polynomial_is_no_gelu(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        cube = build.emit("aten.pow.Tensor_Scalar", x=x, exponent=3.0)
        inner = build.mul(build.add(x, build.mul(cube, 0.0447)), 0.7978845608)
        gate = build.add(build.emit("aten.tanh", x=inner), build.scalar(1, x.dtype))
        return build.mul(build.mul(x, 0.5), gate)

    assert "aten.gelu" not in ops(optimized(library, make, (3, 5)))


def test_swiglu_is_preferred_to_silu(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        up, gate = (build.emit("aten.linear", x=x, weight=build.constant(random(5, 4, seed=s)))
                    for s in (1, 2))  # fmt: skip
        return build.mul(build.emit("aten.silu", x=gate), up)

    assert ops(optimized(library, make, (3, 4))) == ["aten.linear"] * 2 + ["spirloom.swiglu"]
