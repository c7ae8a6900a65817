"""Constant folding by the converters of nodes and the references of their operators."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from spirloom.builder import Builder
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Graph, Tensor
from spirloom.onnx.constant_folding.registry import folds
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import numpy_type, rounded_to_bfloat16
from spirloom.onnx.narrowing import output_type
from spirloom.onnx.registry import converter_of
from spirloom.onnx.size_arrays import Known, KnownLifter, LeadingPart, SizeArray
from spirloom.value_bounds import narrow_type


class _Folding(Builder):
    """Computes calls of constants, whose data have the types of the model, such as int64."""

    def emit_all(self, op: str, **args: object) -> tuple[Tensor, ...]:
        """The results of the operator's reference."""
        given = {name: value for name, value in args.items() if value is not None}
        completed, types = self.library.completed(op, given)
        for shape, dtype in types:
            self.budget.check(shape, dtype.numpy.itemsize)
        values = {name: _data(value) for name, value in given.items()}
        arrays = self.library.evaluate(op, completed, values)
        return tuple(
            Tensor(self.name, dtype, shape, array)
            for (shape, dtype), array in zip(types, arrays, strict=True)
        )

    def constant(self, values: Array) -> Tensor:
        """A constant of any type of a model. Strings and formulas of sizes are only moved."""
        dtype = narrow_type(values.dtype) if values.dtype.kind in "biuf" else DType.I32
        return Tensor(self.name, dtype, values.shape, values)

    def _held(self, made: Tensor) -> Tensor:
        return made  # the importer holds the results only


def _data(value: object) -> object:
    """An argument of a reference: the array of a constant."""
    if isinstance(value, tuple):
        return [_data(item) for item in value]
    return value.data if isinstance(value, Tensor) else value


class _Lifter(KnownLifter):
    def lift(self, builder: Builder, value: Known, name: str) -> Tensor:
        """The tensor of an array, in its own type."""
        return value if isinstance(value, Tensor) else builder.constant(np.asarray(value))


@folds(
    "Abs", "Add", "And", "Ceil", "Clip", "Concat", "CumSum", "Div", "Equal", "Exp", "Expand",
    "Flatten", "Floor", "Gather", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual",
    "Log", "MatMul", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Pow", "Reciprocal",
    "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "Relu", "Reshape", "Round", "ScatterND",
    "Shape", "Sign", "Size", "Slice", "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Tile",
    "Transpose", "Trilu", "Unsqueeze", "Where", "Xor",
)  # fmt: skip
def _by_reference(ctx: NodeContext, inputs: list[Array]) -> Array | list[Array]:
    if ctx.op_type in ("Div", "Mod") and inputs[1].dtype.kind in "iu" and not inputs[1].all():
        raise Unsupported("it divides a constant integer by zero")
    library, given = ctx.build.library, iter(inputs)
    arrays = [None if value is None else next(given) for value in ctx.inputs]
    build = _Folding(library, Graph(), ctx.build.budget)
    own = NodeContext(ctx.node, arrays, ctx.opset, build, _Lifter(), frozenset())
    own.read = ctx.read
    converter = converter_of(ctx.op_type, library)
    assert converter is not None
    found = converter(own)
    if isinstance(found, Tensor | np.ndarray | SizeArray | LeadingPart):
        return _in_model(own, 0, found)
    results = [_in_model(own, index, value) for index, value in enumerate(found)]
    return results[0] if len(results) == 1 else results


def _in_model(ctx: NodeContext, index: int, value: Known) -> Array:
    """The array of an output, in its type in the model."""
    array = value.data if isinstance(value, Tensor) else value
    assert isinstance(array, np.ndarray)
    dtypes = [given.dtype if isinstance(given, np.ndarray) else None for given in ctx.inputs]
    own = value.dtype.numpy if isinstance(value, Tensor) else array.dtype
    return array.astype(output_type(ctx, index, dtypes) or own, copy=False)


# Calls cast to device types, which are narrower.
@folds("Cast", "CastLike")
def _cast(ctx: NodeContext, inputs: list[Array]) -> Array:
    target = numpy_type(ctx.integer("to", 0)) if len(inputs) == 1 else inputs[1].dtype
    ctx.check_size(inputs[0].shape, np.dtype(target).itemsize)
    if len(inputs) == 1 and ctx.integer("to", 0) == TensorProto.BFLOAT16:
        return rounded_to_bfloat16(inputs[0])
    return inputs[0].astype(target)


# Decomposed as for devices, its sums would be in another order.
@folds("Einsum")
def _einsum(ctx: NodeContext, inputs: list[Array]) -> Array:
    equation = "".join(ctx.text("equation", "").split())
    return np.asarray(np.einsum(equation, *inputs))
