"""Random graphs have the same results in fp16 as in float32: intermediate results beyond the range
of fp16, or below its smallest value, stay in float32."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from spirloom.builder import Builder
from spirloom.ir import DType, Graph, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.passes.fp16 import to_fp16

from tests.frontend import reference_run
from tests.sample import seed

COUNT, ROWS, WIDTH = 60, 4, 48
Block = Callable[["Blocks", Tensor], Tensor]


class Blocks:
    """Parts of networks, as exports decompose them. Each has results of the size of its input and
    of magnitude 100 at most, of inputs of this magnitude."""

    def __init__(self, build: Builder, choose: random.Random) -> None:
        self.build, self.choose = build, choose

    def __call__(self, op: str, **args: object) -> Tensor:
        return self.moved(self.build.emit(f"aten.{op}", **args))

    def moved(self, x: Tensor) -> Tensor:
        """Sometimes through operators that only move elements."""
        if self.choose.random() < 0.2:
            size = tuple(x.shape)
            x = self.build.emit("aten.unsqueeze", x=x, dim=0)
            x = self.build.emit("aten.view", x=x, size=size)
        return x

    def number(self, value: float) -> Tensor:
        return constant("c", np.full((1,), value, np.float32))

    def linear(self, x: Tensor) -> Tensor:
        scale = self.choose.choice((0.3, 1, 2)) / np.sqrt(WIDTH)
        numbers = np.random.default_rng(self.choose.randrange(1 << 30))
        weight = numbers.normal(0, scale, (WIDTH, WIDTH)).astype(np.float32)
        return self.limited(self("linear", x=x, weight=constant("w", weight)))

    def limited(self, x: Tensor) -> Tensor:
        return self("clamp", x=x, min=-100.0, max=100.0)

    def sum_of(self, x: Tensor) -> Tensor:
        op = self.choose.choice(("sum.dim_IntList", "mean.dim"))
        return self(op, x=x, dim=(-1,), keepdim=True)

    def squared(self, x: Tensor) -> Tensor:
        if self.choose.random() < 0.5:
            return self("mul.Tensor", a=x, b=x)
        return self("pow.Tensor_Scalar", x=x, exponent=2.0)

    def normalized(self, x: Tensor) -> Tensor:
        """By the root of the mean of squares, without an epsilon of fp16."""
        mean = self("mean.dim", x=self.squared(x), dim=(-1,), keepdim=True)
        epsilon = self.number(self.choose.choice((1e-12, 1e-6, 1e-5)))
        scale = self("rsqrt", x=self("add.Tensor", a=mean, b=epsilon))
        return self("mul.Tensor", a=x, b=scale)

    def centered(self, x: Tensor) -> Tensor:
        mean = self("mean.dim", x=x, dim=(-1,), keepdim=True)
        return self.normalized(self("sub.Tensor", a=x, b=mean))

    def unit(self, x: Tensor) -> Tensor:
        length = self("sqrt", x=self.sum_of(self.squared(x)))
        return self("div.Tensor", a=x, b=self("add.Tensor", a=length, b=self.number(1e-3)))

    def shares(self, x: Tensor) -> Tensor:
        """Softmax by its formula, of values up to 20."""
        grown = self("exp", x=self("clamp", x=x, min=-20.0, max=20.0))
        total = self("sum.dim_IntList", x=grown, dim=(-1,), keepdim=True)
        return self("div.Tensor", a=grown, b=total)

    def log_of_sum(self, x: Tensor) -> Tensor:
        grown = self("exp", x=self("clamp", x=x, min=-20.0, max=20.0))
        total = self("log", x=self("sum.dim_IntList", x=grown, dim=(-1,), keepdim=True))
        return self("sub.Tensor", a=self("clamp", x=x, min=-20.0, max=20.0), b=total)

    def activated(self, x: Tensor) -> Tensor:
        return self(self.choose.choice(("relu", "tanh", "sigmoid", "silu")), x=x)

    def residual(self, x: Tensor) -> Tensor:
        return self.limited(self("add.Tensor", a=x, b=self.linear(self.normalized(x))))


BLOCKS: list[Block] = [
    Blocks.linear, Blocks.normalized, Blocks.centered, Blocks.unit, Blocks.shares,
    Blocks.log_of_sum, Blocks.activated, Blocks.residual,
]  # fmt: skip


def test_random_graphs(library: OpLibrary) -> None:
    choose, halved = random.Random(seed()), 0
    for _ in range(COUNT):
        number = choose.randrange(1 << 30)
        plain, converted = (_graph(library, random.Random(number)) for _ in range(2))
        to_fp16(converted, library)
        halved += any(t.dtype is DType.F16 for t in converted.tensors())
        spread = choose.choice((1, 60))
        x = np.random.default_rng(number).normal(0, spread, (ROWS, WIDTH)).astype(np.float32)
        x[0] = 0
        (expected,) = reference_run.run(plain, {"x": x}).values()
        (found,) = reference_run.run(converted, {"x": x}).values()
        assert np.isfinite(expected).all() and np.abs(expected).max() <= 400
        scale = np.abs(expected).max() + 1e-3
        names = [node.op for node in plain.nodes]
        np.testing.assert_allclose(found / scale, expected / scale, atol=0.03, err_msg=f"{names}")
    assert halved > COUNT // 4


def _graph(library: OpLibrary, choose: random.Random) -> Graph:
    x = Tensor("x", DType.F32, (ROWS, WIDTH))
    graph = Graph([x])
    blocks, y = Blocks(Builder(library, graph), choose), x
    for _ in range(choose.randint(1, 4)):
        y = choose.choice(BLOCKS)(blocks, y)
    graph.outputs = [y]
    return graph
