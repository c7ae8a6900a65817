"""The names of a library's ops in ExecuTorch: executorch.bin. Beside the registry and not in it:
the library that serves ExecuTorch alone reads it (integrations/executorch/names/).

Numbers are varints, texts counted, and a list stands behind its length.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from codegen.expr.types import Value
from codegen.loader import Library
from codegen.op import Op
from codegen.registry.formulas import many
from codegen.spec import Arg, ArgType, DTypeOf, Exactly, ForeignName, Place, ShapeOf
from codegen.varint import text, varint, zigzag
from codegen.vocabulary import DType

_FORMAT = "spirloom-executorch-3"

# The numbers of delegate::ArgType.
_TYPES = {kind: number for number, kind in enumerate(ArgType)}

_ANY = len(DType) + 1  # where a tensor's dtype stands: it may be any

_NO_DEFAULT, _DEFAULT, _DEFAULT_OF = range(3)
_IGNORED, _ARG, _EXACTLY, _LIST = range(4)  # the numbers of delegate::PlaceKind
_VALUE, _SHAPE_OF, _DTYPE_OF = range(3)  # the numbers of delegate::SettingKind
_NONE, _BOOL, _INT, _FLOAT, _TEXT, _INTS = range(6)  # the numbers of delegate::ConstantKind


def foreign_bytes(library: Library) -> bytes:
    """The names of the library's ops, in order of name."""
    ops = list(library.ops.values())
    names = sorted(
        ((foreign, index) for index, op in enumerate(ops) for foreign in op.foreign),
        key=lambda item: (item[0].name, item[0].part, item[1]),
    )
    entries = many(_name(foreign, index, ops[index]) for foreign, index in names)
    return text(_FORMAT) + many(map(_op, ops)) + entries


def _op(op: Op) -> bytes:
    outputs = varint(len(op.outputs))
    return text(op.name) + many(_arg(arg, op) for arg in op.args) + outputs


def _arg(arg: Arg, op: Op) -> bytes:
    length = 0 if arg.length is None else arg.length + 1
    head = text(arg.name) + varint(_TYPES[arg.type]) + varint(arg.optional) + varint(length)
    head += varint(_ANY if arg.any_dtype else 0 if arg.dtype is None else arg.dtype.code + 1)
    if arg.default_of is not None:
        return head + varint(_DEFAULT_OF) + varint(_places(op)[arg.default_of])
    if arg.default is None:
        return head + varint(_NO_DEFAULT)
    return head + varint(_DEFAULT) + _constant(arg.default)


def _places(op: Op) -> Mapping[str, int]:
    return {arg.name: arg.index for arg in op.args}


def _name(foreign: ForeignName, index: int, op: Op) -> bytes:
    rank = 0 if foreign.rank is None else foreign.rank + 1
    places = many(_place(place, op) for place in foreign.places)
    settings = many(
        varint(_places(op)[name]) + _setting(value, op) for name, value in foreign.settings
    )
    part = varint(foreign.parts - 1) + varint(foreign.part)
    changed = foreign.result if isinstance(foreign.result, str) else None
    result = varint(0 if changed is None else _places(op)[changed] + 1)
    result += varint(foreign.result if isinstance(foreign.result, int) else 0)
    return text(foreign.name) + varint(index) + varint(rank) + part + result + places + settings


def _place(place: Place, op: Op) -> bytes:
    match place:
        case None:
            return varint(_IGNORED)
        case str():
            return varint(_ARG) + varint(_places(op)[place])
        case Exactly(value):
            return varint(_EXACTLY) + _constant(value)
        case _:
            return varint(_LIST) + many(varint(_places(op)[name]) for name in place)


def _setting(value: Value | ShapeOf | DTypeOf, op: Op) -> bytes:
    match value:
        case ShapeOf(tensor, first):
            return varint(_SHAPE_OF) + _tensor(tensor, op) + varint(first)
        case DTypeOf(tensor):
            return varint(_DTYPE_OF) + _tensor(tensor, op)
        case _:
            return varint(_VALUE) + _constant(value)


def _tensor(name: str, op: Op) -> bytes:
    """Whether it is an output, and its place."""
    output = next((output.index for output in op.outputs if output.name == name), None)
    return varint(output is not None) + varint(_places(op)[name] if output is None else output)


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
