"""The registry of a library. runtime/ops/registry_reader.cpp reads it in the same order.

Ints are varints, texts and formulas counted bytes. An absent formula is empty. Lists follow their
length.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator, Sequence

from codegen.registry.encoding import Formulas, many, text, varint, zigzag
from spec_model.expr.types import Expr, Kind, Literal
from spec_model.library import Library
from spec_model.load.axes import dtype_expression
from spec_model.op import Op
from spec_model.spec import (
    Arg,
    ArgType,
    Axis,
    Check,
    Constant,
    Kernel,
    Let,
    Operand,
    Output,
    Pack,
    PushMember,
    dtype_source,
)
from spec_model.vocabulary import Access, Storage

# The values of ops::ArgType.
_ARG_TYPES = {
    ArgType.TENSOR: 0,
    ArgType.TENSORS: 1,
    ArgType.INT: 2,
    ArgType.FLOAT: 3,
    ArgType.NUMBER: 3,
    ArgType.BOOL: 4,
    ArgType.INTS: 5,
    ArgType.STR: 6,
}
_LET, _CHECK = 0, 1
_NO_DEFAULT, _DEFAULT_VALUE, _DEFAULT_ARGUMENT = 0, 1, 2  # the values of ops::ArgDefault::Kind


def registry_bytes(library: Library, name: str, *, overrides: bool) -> bytes:
    """The registry of a library. `overrides`: its ops replace ops of the same name."""
    ops_bytes = many(op_bytes(op) for op in library.ops.values())
    return text(name) + varint(overrides) + ops_bytes


def op_bytes(op: Op) -> bytes:
    """One op."""
    formulas = Formulas.of(op)
    lets = [step for step in op.steps if isinstance(step, Let)]
    return b"".join(
        [
            text(op.name),
            text(op.short_name),
            varint(0 if op.view_of is None else op.view_of + 1),
            many(_arg(arg, op.args) for arg in op.args),
            *(formulas.code(_dtype(op, arg)) for arg in op.args),
            many(formulas.code(let.value) for let in lets),
            many(_step(step, formulas) for step in op.steps),
            many(
                _output(output, updated, formulas)
                for output, updated in zip(op.outputs, op.in_place, strict=True)
            ),
            formulas.code(op.view_offset),
            many(kernel_bytes(kernel, formulas) for kernel in _kernels(op)),
        ]
    )


def _kernels(op: Op) -> Iterator[Kernel]:
    """All kernels, for messages about missing ones. Those without variants have no bindings."""
    used = {variant.kernel.name for variant in op.variants}
    for kernel in op.kernels:
        if kernel.name in used:
            yield kernel
        else:
            yield dataclasses.replace(kernel, operands=(), push=(), constants=())


def _arg(arg: Arg, args: Sequence[Arg]) -> bytes:
    length = 0 if arg.length is None else arg.length + 1
    values = (_ARG_TYPES[arg.type], arg.optional, length)
    return text(arg.name) + b"".join(map(varint, values)) + _default(arg, args)


def _default(arg: Arg, args: Sequence[Arg]) -> bytes:
    """ops::ArgDefault."""
    if arg.default_of is not None:
        index = next(other.index for other in args if other.name == arg.default_of)
        return varint(_DEFAULT_ARGUMENT) + varint(index)
    match arg.default:
        case None:
            return varint(_NO_DEFAULT)
        case tuple(ints):
            value = many(zigzag(int(item)) for item in ints)  # type: ignore[arg-type]
        case str(chars):
            value = text(chars)
        case number if arg.type in (ArgType.FLOAT, ArgType.NUMBER):
            value = struct.pack("<d", number)
        case integer:
            value = zigzag(int(integer))  # type: ignore[arg-type]
    return varint(_DEFAULT_VALUE) + value


def _dtype(op: Op, arg: Arg) -> Expr | None:
    """The required dtype of a tensor: a constant, or that of the first tensor. None: any."""
    if not arg.type.is_tensor or arg.any_dtype:
        return None
    if arg.dtype is not None:
        return Literal(Kind.DTYPE, arg.dtype)
    source = dtype_source(op.args)
    if source is None or (arg is source and arg.type is ArgType.TENSOR):
        return None
    return dtype_expression(source)


def _step(step: Let | Check, formulas: Formulas) -> bytes:
    """The next let, or a check with its message and the compared ints."""
    if isinstance(step, Let):
        return varint(_LET)
    left, right = step.sides or (None, None)
    parts = map(formulas.code, (step.condition, left, right))
    return varint(_CHECK) + text(step.text) + b"".join(parts)


def _output(output: Output, updated: int | None, formulas: Formulas) -> bytes:
    types = formulas.code(output.shape) + formulas.code(output.dtype)
    return types + varint(0 if updated is None else updated + 1)


_ACCESSES = (Access.READ, Access.WRITE, Access.READWRITE)  # the values of ops::Access
_AUTO = 0  # Storage::kAuto


def kernel_bytes(kernel: Kernel, formulas: Formulas) -> bytes:
    """One kernel."""
    return b"".join(
        [
            text(kernel.name),
            varint(kernel.index),
            varint(_storages(kernel)),
            varint(kernel.push_bytes),
            formulas.code(kernel.when),
            formulas.code(kernel.prefer),
            formulas.code(kernel.loop_iterations),
            formulas.code(kernel.repeat),
            formulas.code(kernel.concat_offset),
            many(_axis(axis, formulas) for axis in kernel.axes),
            many(_operand(operand, formulas) for operand in kernel.operands),
            many(_push(member, formulas) for member in kernel.push),
            many(_constant(constant, formulas) for constant in kernel.constants),
            *(formulas.code(size) for size in kernel.grid),
        ]
    )


def _storages(kernel: Kernel) -> int:
    """The bits of KernelInfo::storages."""
    axis = next(axis for axis in kernel.axes if axis.name == "storage")
    return sum(1 << value.code for value in axis.values if isinstance(value, Storage))


def _axis(axis: Axis, formulas: Formulas) -> bytes:
    """The value that a call requires, and the ints of an int axis: their index is the code."""
    values = [value for value in axis.values if isinstance(value, int)]
    return formulas.code(axis.of) + many(map(varint, values))


def _operand(operand: Operand, formulas: Formulas) -> bytes:
    fixed = operand.storage.code if isinstance(operand.storage, Storage) else _AUTO
    values = (
        operand.source.value,
        operand.index,
        _ACCESSES.index(operand.access),
        fixed,
        operand.own_storage,
    )
    return text(operand.name) + b"".join(map(varint, values)) + _pack(operand.pack, formulas)


def _pack(pack: Pack | None, formulas: Formulas) -> bytes:
    """The packing op, empty if there is none, and its args; absent tensors are absent formulas."""
    if pack is None:
        return text("")
    return text(pack.op) + many(map(formulas.code, pack.args))


def _push(member: PushMember, formulas: Formulas) -> bytes:
    """The offset, the length of a list (0: a scalar), and the value."""
    return varint(member.offset) + varint(member.count or 0) + formulas.code(member.pushed)


def _constant(constant: Constant, formulas: Formulas) -> bytes:
    return formulas.code(constant.value)
