"""Einsum."""

from __future__ import annotations

from spirloom.einsum import einsum
from spirloom.equation import Equation
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import converts


@converts("Einsum")
def einsum_(ctx: NodeContext) -> Tensor:
    operands = [ctx.tensor(i) for i in range(len(ctx.inputs))]
    equation = Equation.parse(ctx.text("equation", ""), [len(x.shape) for x in operands])
    return einsum(ctx.build, equation, operands)
