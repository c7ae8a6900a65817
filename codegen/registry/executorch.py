"""The names of a library's ops in ExecuTorch: executorch.bin, read only by the ExecuTorch backend
(integrations/executorch/names/).

Ints are varints, texts counted bytes, and lists follow their length.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from codegen.registry.encoding import many, text, varint, zigzag
from spec_model.expr.types import Value
from spec_model.library import Library
from spec_model.op import Op
from spec_model.spec import (
    Arg,
    ArgType,
    CallArg,
    DTypeOf,
    Exactly,
    ExecutorchMapping,
    Output,
    ShapeOf,
)
from spec_model.vocabulary import DType

_FORMAT = "spirloom-executorch-4"

# The values of delegate::ArgType.
_TYPES = {kind: value for value, kind in enumerate(ArgType)}

_ANY = len(DType) + 1  # in the field of a tensor's dtype: any dtype

_NO_DEFAULT, _DEFAULT, _DEFAULT_OF = range(3)
_IGNORED, _ARG, _EXACTLY, _LIST = range(4)  # the values of delegate::CallArgKind
_VALUE, _SHAPE_OF, _DTYPE_OF = range(3)  # the values of delegate::ArgBindingKind
_NONE, _BOOL, _INT, _FLOAT, _TEXT, _INTS = range(6)  # the values of delegate::ConstantKind


def executorch_bytes(library: Library) -> bytes:
    """The names of the library's ops, in order of name."""
    ops = list(library.ops.values())
    names = sorted(
        ((mapping, index) for index, op in enumerate(ops) for mapping in op.executorch),
        key=lambda item: (item[0].name, item[0].part, item[1]),
    )
    entries = many(_name(mapping, index, ops[index]) for mapping, index in names)
    return text(_FORMAT) + many(map(_op, ops)) + entries


def _op(op: Op) -> bytes:
    return text(op.name) + many(_arg(arg, op) for arg in op.args) + many(map(_output, op.outputs))


def _output(output: Output) -> bytes:
    """The dtype if the spec fixes it."""
    fixed = output.fixed_dtype
    return varint(0 if fixed is None else fixed.code + 1)


def _arg(arg: Arg, op: Op) -> bytes:
    length = 0 if arg.length is None else arg.length + 1
    head = text(arg.name) + varint(_TYPES[arg.type]) + varint(arg.optional) + varint(length)
    head += varint(_ANY if arg.any_dtype else 0 if arg.dtype is None else arg.dtype.code + 1)
    if arg.default_of is not None:
        return head + varint(_DEFAULT_OF) + varint(_indices(op)[arg.default_of])
    if arg.default is None:
        return head + varint(_NO_DEFAULT)
    return head + varint(_DEFAULT) + _constant(arg.default)


def _indices(op: Op) -> Mapping[str, int]:
    return {arg.name: arg.index for arg in op.args}


def _name(mapping: ExecutorchMapping, index: int, op: Op) -> bytes:
    rank = 0 if mapping.rank is None else mapping.rank + 1
    call_args = many(_call_arg(arg, op) for arg in mapping.call_args)
    bindings = many(
        varint(_indices(op)[name]) + _binding(value, op) for name, value in mapping.bindings
    )
    part = varint(mapping.parts - 1) + varint(mapping.part)
    changed = mapping.result if isinstance(mapping.result, str) else None
    result = varint(0 if changed is None else _indices(op)[changed] + 1)
    result += varint(mapping.result if isinstance(mapping.result, int) else 0)
    return text(mapping.name) + varint(index) + varint(rank) + part + result + call_args + bindings


def _call_arg(arg: CallArg, op: Op) -> bytes:
    match arg:
        case None:
            return varint(_IGNORED)
        case str():
            return varint(_ARG) + varint(_indices(op)[arg])
        case Exactly(value):
            return varint(_EXACTLY) + _constant(value)
        case _:
            return varint(_LIST) + many(varint(_indices(op)[name]) for name in arg)


def _binding(value: Value | ShapeOf | DTypeOf, op: Op) -> bytes:
    match value:
        case ShapeOf(tensor, first):
            return varint(_SHAPE_OF) + _tensor(tensor, op) + varint(first)
        case DTypeOf(tensor):
            return varint(_DTYPE_OF) + _tensor(tensor, op)
        case _:
            return varint(_VALUE) + _constant(value)


def _tensor(name: str, op: Op) -> bytes:
    """Whether it is an output, and its index."""
    output = next((output.index for output in op.outputs if output.name == name), None)
    return varint(output is not None) + varint(_indices(op)[name] if output is None else output)


def _constant(value: object) -> bytes:
    match value:
        case None:
            return varint(_NONE)
        case bool():
            return varint(_BOOL) + varint(value)
        case int():
            return varint(_INT) + zigzag(value)
        case float():
            return varint(_FLOAT) + struct.pack("<d", value)
        case str():
            return varint(_TEXT) + text(value)
        case _:
            assert isinstance(value, tuple)
            return varint(_INTS) + many(map(zigzag, value))
