"""A kernel's part of the registry."""

from __future__ import annotations

from codegen.registry.formulas import Formulas, many
from codegen.spec import Axis, Constant, Kernel, Operand, Pack, PushMember
from codegen.varint import text, varint
from codegen.vocabulary import Access, Storage

_ACCESSES = (Access.READ, Access.WRITE, Access.READWRITE)  # the numbers of ops::Access
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
            formulas.code(kernel.repeat),
            formulas.code(kernel.joined_at),
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
    """What the call needs; its codes are its own, or for ints the places among the values."""
    values = [value for value in axis.values if isinstance(value, int)]
    return formulas.code(axis.of) + many(map(varint, values))


def _operand(operand: Operand, formulas: Formulas) -> bytes:
    fixed = operand.storage.code if isinstance(operand.storage, Storage) else _AUTO
    numbers = (
        operand.is_output,
        operand.index,
        _ACCESSES.index(operand.access),
        fixed,
        operand.own_storage,
    )
    return text(operand.name) + b"".join(map(varint, numbers)) + _pack(operand.pack, formulas)


def _pack(pack: Pack | None, formulas: Formulas) -> bytes:
    """The packing op, empty for none, and its args, absent tensors being absent formulas."""
    if pack is None:
        return text("")
    return text(pack.op) + many(map(formulas.code, pack.args))


def _push(member: PushMember, formulas: Formulas) -> bytes:
    """Where it stands, the length of a list (0: a scalar), and its value."""
    return varint(member.offset) + varint(member.count or 0) + formulas.code(member.pushed)


def _constant(constant: Constant, formulas: Formulas) -> bytes:
    return formulas.code(constant.value)
