"""Evaluates ONNX nodes whose inputs are all known, in ONNX's own types: int64 stays int64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from spirloom.ir import Array
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import numpy_type
from spirloom.onnx.table import Unsupported

# Larger results are left to the device, or refused.
MAX_FOLDED_BYTES = 1 << 30

Folder = Callable[[NodeContext, list[Array]], Array | Sequence[Array]]
FOLDERS: dict[str, Folder] = {}


def folds(*op_types: str) -> Callable[[Folder], Folder]:
    """Registers the decorated function as the evaluator of ONNX operators."""

    def register(folder: Folder) -> Folder:
        FOLDERS.update(dict.fromkeys(op_types, folder))
        return folder

    return register


def check_size(shape: Sequence[int], itemsize: int) -> None:
    """Refuses a result too large to hold."""
    if any(d < 0 for d in shape) or prod(shape) * itemsize > MAX_FOLDED_BYTES:
        raise Unsupported(f"it makes a constant of the impossible or huge shape {list(shape)}")


_UNARY: dict[str, Callable[[Array], Array]] = {
    "Abs": np.abs,
    "Ceil": np.ceil,
    "Exp": np.exp,
    "Floor": np.floor,
    "Log": np.log,
    "Neg": np.negative,
    "Not": np.logical_not,
    "Reciprocal": np.reciprocal,
    "Relu": lambda x: np.maximum(x, 0),
    "Round": np.rint,
    "Sign": np.sign,
    "Sqrt": np.sqrt,
    "Identity": lambda x: x,
}

_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "Equal": np.equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Pow": lambda a, b: np.power(a, b).astype(a.dtype),
}

_VARIADIC: dict[str, Callable[[Array, Array], Array]] = {
    "Max": np.maximum,
    "Min": np.minimum,
    "Sum": np.add,
}


@folds(*_UNARY)
def _unary(ctx: NodeContext, inputs: list[Array]) -> Array:
    ctx.refuse_extra_outputs()
    return _UNARY[ctx.op_type](inputs[0])


@folds(*_BINARY)
def _binary(ctx: NodeContext, inputs: list[Array]) -> Array:
    check_size(np.broadcast_shapes(inputs[0].shape, inputs[1].shape), inputs[0].itemsize)
    return _BINARY[ctx.op_type](inputs[0], inputs[1])


@folds(*_VARIADIC)
def _variadic(ctx: NodeContext, inputs: list[Array]) -> Array:
    result = inputs[0]
    for other in inputs[1:]:
        result = _VARIADIC[ctx.op_type](result, other)
    return result


@folds("Div")
def _div(ctx: NodeContext, inputs: list[Array]) -> Array:
    a, b = inputs
    if a.dtype.kind == "f":
        return np.divide(a, b)
    if not b.all():
        raise Unsupported("it divides a constant integer by zero")
    quotient = np.abs(a) // np.abs(b)
    return np.asarray(quotient * np.sign(a) * np.sign(b), dtype=a.dtype)


@folds("Mod")
def _mod(ctx: NodeContext, inputs: list[Array]) -> Array:
    a, b = inputs
    if a.dtype.kind != "f" and not b.all():
        raise Unsupported("it divides a constant integer by zero")
    return np.fmod(a, b) if ctx.integer("fmod", 0) else np.mod(a, b)


@folds("Where")
def _where(ctx: NodeContext, inputs: list[Array]) -> Array:
    return np.where(inputs[0], inputs[1], inputs[2])


@folds("Cast", "CastLike")
def _cast(ctx: NodeContext, inputs: list[Array]) -> Array:
    target = numpy_type(ctx.integer("to", 0)) if len(inputs) == 1 else inputs[1].dtype
    with np.errstate(over="ignore", invalid="ignore"):
        return inputs[0].astype(target)


@folds("Shape")
def _shape(ctx: NodeContext, inputs: list[Array]) -> Array:
    return shape_slice(ctx, inputs[0].shape)


@folds("Size")
def _size(ctx: NodeContext, inputs: list[Array]) -> Array:
    return np.array(inputs[0].size, dtype=np.int64)


def shape_slice(ctx: NodeContext, shape: Sequence[int]) -> Array:
    """What Shape gives for a tensor of this shape (opset 15 has start and end)."""
    end = ctx.integer("end", len(shape))
    return np.array(list(shape)[ctx.integer("start", 0) : end], dtype=np.int64)


@folds("Reshape")
def _reshape(ctx: NodeContext, inputs: list[Array]) -> Array:
    return inputs[0].reshape(reshaped(ctx, inputs[0].shape, [int(d) for d in inputs[1].flat]))


def reshaped(ctx: NodeContext, shape: Sequence[int], target: list[int]) -> list[int]:
    """The explicit shape that Reshape makes of `shape`, for a target with 0 and -1."""
    result = list(target)
    if not ctx.integer("allowzero", 0):
        for i, d in enumerate(target):
            if d == 0 and i >= len(shape):
                raise Unsupported(f"its shape {target} copies dimension {i} of {list(shape)}")
        result = [shape[i] if d == 0 else d for i, d in enumerate(target)]
    known = prod(d for d in result if d != -1)
    if result.count(-1) == 1 and known and prod(shape) % known == 0:
        result[result.index(-1)] = prod(shape) // known
    if any(d < 0 for d in result) or prod(result) != prod(shape):
        raise Unsupported(f"it cannot reshape {list(shape)} to {target}")
    return result


@folds("Flatten")
def _flatten(ctx: NodeContext, inputs: list[Array]) -> Array:
    return inputs[0].reshape(flattened(ctx, inputs[0].shape))


def flattened(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The two dimensions Flatten makes."""
    axis = ctx.integer("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise Unsupported(f"its axis {axis} is out of range for rank {len(shape)}")
    axis = axis + len(shape) if axis < 0 else axis
    return [prod(shape[:axis]), prod(shape[axis:])]


@folds("Squeeze")
def _squeeze(ctx: NodeContext, inputs: list[Array]) -> Array:
    return inputs[0].reshape(squeezed(ctx, inputs[0].shape))


def squeezed(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The shape Squeeze makes."""
    axes = ctx.axes_argument()
    if axes is None:
        return [d for d in shape if d != 1]
    removed = ctx.axes(axes, len(shape))
    for axis in removed:
        if shape[axis] != 1:
            raise Unsupported(f"its axis {axis} of {list(shape)} is not 1")
    return [d for i, d in enumerate(shape) if i not in removed]


@folds("Unsqueeze")
def _unsqueeze(ctx: NodeContext, inputs: list[Array]) -> Array:
    return inputs[0].reshape(unsqueezed(ctx, inputs[0].shape))


def unsqueezed(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The shape Unsqueeze makes."""
    axes = ctx.axes_argument()
    if axes is None:
        raise Unsupported("its axes are missing")
    result = list(shape)
    for axis in ctx.axes(axes, len(shape) + len(axes)):
        result.insert(axis, 1)
    return result


@folds("Transpose")
def _transpose(ctx: NodeContext, inputs: list[Array]) -> Array:
    return np.transpose(inputs[0], permutation(ctx, inputs[0].ndim))


def permutation(ctx: NodeContext, rank: int) -> list[int]:
    """The order of dimensions a Transpose asks for."""
    dims = ctx.integers("perm") or list(reversed(range(rank)))
    if sorted(dims) != list(range(rank)):
        raise Unsupported(f"its perm {dims} does not fit rank {rank}")
    return dims
