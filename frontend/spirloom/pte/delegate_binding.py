"""Binds calls of Vulkan delegates to operators, by the mappings of the specs and by rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import copysign, inf, isnan
from typing import Any

import numpy as np

from spec_model.spec import DTypeOf, Exactly, ExecutorchMapping, ShapeOf
from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.op_library import OpLibrary, own_library
from spirloom.pte.kernel_calls import by_target
from spirloom.torch.context import CallContext
from spirloom.torch.rules import RULES as TORCH_RULES
from spirloom.torch.rules.registry import ImportRule
from spirloom.torch.values import Item, is_value
from spirloom.value_bounds import narrow_type

Result = tuple[tuple[int, ...] | None, np.dtype[Any] | None]
_FLOAT_MAX = float(np.finfo(np.float32).max)


class BoundCall:
    """A call, or a part of one, bound to an operator with named arguments."""

    def __init__(self, op: str, mapping: ExecutorchMapping, args: Mapping[str, Item]) -> None:
        self.op = op
        self.args = args
        self.mapping = mapping


@cache
def mutated_args(name: str) -> tuple[int, ...]:
    """The indices of the arguments that calls of this name mutate, sorted."""
    entries = (mapping for _, mapping in own_library().executorch(name))
    return tuple(sorted({index for each in entries if (index := mutated_arg(each)) is not None}))


def mutated_arg(mapping: ExecutorchMapping) -> int | None:
    """The index of the argument that the call mutates, if any."""
    if isinstance(mapping.result, int):
        return None
    return mapping.call_args.index(mapping.result)


def find_mappings(
    library: OpLibrary, name: str, args: Sequence[Item]
) -> list[tuple[str, ExecutorchMapping]]:
    """The mappings of a call, one per part, in order; empty for an unknown name.

    Raises Unsupported if no mapping of a part matches the arguments.
    """
    entries = library.executorch(name)
    if not entries:
        return []
    found = []
    for part in range(entries[0][1].parts):
        fits = (entry for entry in entries if entry[1].part == part and _matches(entry[1], args))
        if (first := next(fits, None)) is None:
            raise Unsupported("there is no operator for it with these arguments")
        found.append(first)
    return found


def bind_part(
    library: OpLibrary,
    part: tuple[str, ExecutorchMapping],
    args: Sequence[Item],
    results: Sequence[Result],
) -> BoundCall:
    """Binds the arguments of a part of a call. Raises Unsupported.

    `results` are the shapes and dtypes of the call's results, None if unknown.
    """
    op, mapping = part
    return BoundCall(op, mapping, _bind_part_arguments(library, op, mapping, args, results))


def _matches(mapping: ExecutorchMapping, args: Sequence[Item]) -> bool:
    if mapping.rank is not None and _rank(args) != mapping.rank:
        return False
    for i in range(max(len(args), len(mapping.call_args))):
        value = args[i] if i < len(args) else None
        if i >= len(mapping.call_args):
            if value is not None:
                return False
        elif isinstance(expected := mapping.call_args[i], Exactly) and not _equal(value, expected):
            return False
    return True


def _rank(args: Sequence[Item]) -> int | None:
    return next((len(item.shape) for item in args if is_value(item)), None)


def _equal(value: Item, expected: Exactly) -> bool:
    """Whether the value equals the spec's literal. Ints and floats compare by numeric value."""
    if is_value(value):
        return False
    if isinstance(value, bool) or isinstance(expected.value, bool):
        return value is expected.value
    return bool(value == expected.value)


def _bind_part_arguments(
    library: OpLibrary,
    op: str,
    mapping: ExecutorchMapping,
    args: Sequence[Item],
    results: Sequence[Result],
) -> dict[str, Item]:
    outputs = dict(zip(library.output_names(op), results, strict=False))
    found: dict[str, Item] = {}
    for target, value in zip(mapping.call_args, args, strict=False):
        if isinstance(target, str):
            found[target] = _saturated(value)
        elif isinstance(target, tuple) and value is not None:
            if not isinstance(value, tuple) or len(value) != len(target):
                raise Unsupported(f"an argument is not a list of {len(target)} ints or floats")
            found.update(zip(target, value, strict=True))
    unknown: Result = (None, None)
    for name, binding in mapping.bindings:
        match binding:
            case ShapeOf(tensor, first):
                shape = found[tensor].shape if tensor in found else outputs.get(tensor, unknown)[0]
                if shape is None:
                    raise Unsupported("the shape of its result is unknown")
                found[name] = tuple(shape)[first:]
            case DTypeOf(tensor):
                dtype = found[tensor].dtype if tensor in found else outputs.get(tensor, unknown)[1]
                found[name] = str(narrow_type(dtype) if isinstance(dtype, np.dtype) else dtype)
            case _:
                found[name] = binding
    own = {arg.name for arg in library.args(op) if arg.type.is_tensor and arg.dtype is not None}
    return {name: _as_vector(item) if name in own else item for name, item in found.items()}


def _as_vector(value: Item) -> Item:
    """Converts a scalar, passed for a tensor of a fixed dtype, to a tensor [1]."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return np.asarray([value]) if is_number else value


def _saturated(value: Item) -> Item:
    """Converts values out of float range to infinities: a missing bound is a very large double."""
    if isinstance(value, float) and abs(value) > _FLOAT_MAX and not isnan(value):
        return copysign(inf, value)
    return value


def prepacked(ctx: CallContext) -> Item:
    """Returns the argument: the runtime packs weights when it loads a graph."""
    return next(iter(ctx.args.values()))


def select_symint(ctx: CallContext) -> Item:
    """An int that the host reads from an input: a slice [1] of the input. Only calls that accept a
    tensor for the int can use it."""
    x, *indices = ctx.args.values()
    index = indices[1] if len(indices) == 2 else None
    if not isinstance(x, Tensor) or len(x.shape) != 1 or not isinstance(index, int):
        raise Unsupported("it reads a size from an input, which is known only at run time")
    end = index + 1 if index != -1 else x.shape[0]
    return ctx.inner("aten.slice.Tensor", x, 0, index, end)


_ARITHMETIC = {
    "operator.add": "aten.add.Tensor",
    "operator.sub": "aten.sub.Tensor",
    "operator.mul": "aten.mul.Tensor",
}


def int_arithmetic(ctx: CallContext) -> Item:
    """Arithmetic of ints, of which some may be elements of inputs: tensors [1]."""
    values = list(ctx.args.values())
    if not any(isinstance(value, Tensor) for value in values):
        return TORCH_RULES[ctx.target](ctx)
    a, b = (_position(ctx, value) for value in values)
    return ctx.build.emit(_ARITHMETIC[ctx.target], a=a, b=b)


def slice_from(ctx: CallContext) -> Item:
    """A slice. If its start is an element of an input, the slices at start, start + 1, …"""
    start = ctx.args.get("start")
    if not isinstance(start, Tensor):
        return TORCH_RULES["aten.slice.Tensor"](ctx)
    x = ctx.applier.tensor(ctx.value("self"), "x")
    dim = ctx.axis("dim", len(x.shape), 0)
    if ctx.integer("step", 1) != 1:
        raise Unsupported("its start is known only at run time, and its step is not 1")
    steps = np.arange(ctx.shape(len(x.shape))[dim], dtype=np.int32)
    index = ctx.build.emit("aten.add.Tensor", a=start, b=_position(ctx, steps))
    return ctx.build.emit("aten.index_select", x=x, dim=dim, index=index)


def _position(ctx: CallContext, value: Item) -> Tensor:
    """Ints as an int32 tensor of rank 1."""
    if isinstance(value, Tensor):
        return value
    return ctx.applier.tensor(np.asarray(value, np.int32).reshape(-1), "position")


def clamped_convolution(ctx: CallContext) -> Item:
    """A convolution followed by a clamp."""
    *values, low, high = ctx.args.values()
    names = by_target()["aten.convolution"].names
    args = dict(zip(names, values, strict=False))
    inner = CallContext(ctx.call, "aten.convolution", args, ctx.dtypes, ctx.shapes, ctx.applier)
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        raise Unsupported("its bounds are not constant")
    x = TORCH_RULES["aten.convolution"](inner)
    return ctx.apply("aten.clamp", x=x, min=float(low), max=float(high))


def pixel_shuffle(ctx: CallContext) -> Item:
    """Requantizes int8 values to the scale 1 / inverse, then shuffles pixels."""
    x, scale, zero, inverse, y_zero, factor = ctx.args.values()
    if not isinstance(inverse, float) or inverse == 0:
        raise Unsupported(f"its inverse output scale ({inverse}) is not a nonzero float")
    y = ctx.inner("spirloom.rescale_i8", x, scale, zero, 1 / inverse, y_zero)
    return ctx.inner("aten.pixel_shuffle", y, factor)


RULES: dict[str, ImportRule] = {
    **dict.fromkeys(_ARITHMETIC, int_arithmetic),
    "aten.slice_copy.Tensor": slice_from,
    "et_vk.prepack": prepacked,
    "et_vk.select_as_symint": select_symint,
    "et_vk.conv_with_clamp": clamped_convolution,
    "et_vk.q8ta_pixel_shuffle": pixel_shuffle,
}
