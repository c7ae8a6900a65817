"""Packing: a kernel's `pack` calls checked against the packing ops' own specs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from codegen.errors import SpecError, one_of
from codegen.expr import operations as ops
from codegen.expr.types import Apply, Expr, Kind, Literal, Value
from codegen.op import Op
from codegen.spec import Arg, ArgType, Kernel, Operand, Pack

_KINDS = {
    ArgType.TENSOR: Kind.TENSOR,
    ArgType.INT: Kind.INT,
    ArgType.FLOAT: Kind.FLOAT,
    ArgType.NUMBER: Kind.FLOAT,
    ArgType.BOOL: Kind.BOOL,
    ArgType.INTS: Kind.INTS,
    ArgType.STR: Kind.STR,
}


def link_packs(kernel: Kernel, by_name: Mapping[str, Op]) -> Kernel:
    """The kernel with the args of its packing calls converted and completed by defaults."""
    if all(operand.pack is None for operand in kernel.operands):
        return kernel
    operands = tuple(_link(operand, by_name) for operand in kernel.operands)
    return dataclasses.replace(kernel, operands=operands)


def _link(operand: Operand, by_name: Mapping[str, Op]) -> Operand:
    pack = operand.pack
    if pack is None:
        return operand
    op = by_name.get(pack.op)
    if op is None:
        known = one_of(sorted(name for name in by_name if ".pack_" in name))
        message = f"Packing op '{pack.op}' is not one of: {known}."
        raise SpecError.at(pack.position, message)
    if len(pack.args) > len(op.args) or len(op.outputs) != 1:
        message = f"{op.name} takes {len(op.args)} args and gives {len(op.outputs)} outputs; "
        message += f"the call has {len(pack.args)} args and needs 1 output."
        raise SpecError.at(pack.position, message)
    given = [*pack.args, *[None] * (len(op.args) - len(pack.args))]
    args = tuple(_argument(pack, arg, value) for arg, value in zip(op.args, given, strict=True))
    return dataclasses.replace(operand, pack=dataclasses.replace(pack, args=args))


def _argument(pack: Pack, arg: Arg, given: Expr | None) -> Expr | None:
    if given is None:
        if arg.required or arg.default_of is not None:
            raise SpecError.at(pack.position, f"Argument '{arg.name}' of {pack.op} is missing.")
        return None if arg.default is None else _default(arg, arg.default)
    kind = _KINDS.get(arg.type)
    if kind is Kind.FLOAT and given.kind is Kind.INT:
        return Apply(Kind.FLOAT, ops.TO_FLOAT, (given,), None, given.names)
    if given.kind is not kind:
        message = f"Argument '{arg.name}' of {pack.op} is {arg.type}, not {given.kind}."
        raise SpecError.at(pack.position, message)
    return given


def _default(arg: Arg, value: Value) -> Expr:
    return Literal(_KINDS[arg.type], value)
