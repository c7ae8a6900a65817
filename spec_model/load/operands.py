"""The tensors a kernel binds, and the packing calls that produce some of them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Map
from functools import cache
from pathlib import Path

from spec_model.errors import SpecError, one_of
from spec_model.expr import operations as ops
from spec_model.expr.check import parse_text
from spec_model.expr.types import Apply, Expr, Kind, Literal, Scope, Value, Variable
from spec_model.fields import Fields, as_int, as_mapping, as_scalar, as_word, check_name
from spec_model.load.axes import Axes
from spec_model.load.declaration import split_args
from spec_model.load.operators import operators_of
from spec_model.load.signature import Signature
from spec_model.op import Op
from spec_model.spec import Arg, ArgType, Kernel, Operand, OperandSource, Output, Pack
from spec_model.templates import BUILTIN_SPECS, Directory
from spec_model.vocabulary import MAX_BINDINGS, Access, DType, Storage, VectorAccess
from spec_model.yaml_reader import Mapping, Node, Scalar
from spec_model.yaml_reader import Sequence as List

_KEYS = ("dtype", "storage", "access", "pack", "per_dispatch")
_INTERMEDIATE_KEYS = ("of", "dtype")


def load_operands(
    fields: Fields, signature: Signature, axes: Axes, device: Scope, repeats: bool
) -> tuple[Operand, ...]:
    """The bound tensors, in order of binding: args, outputs, then intermediates."""
    overrides = {entry.key.text: entry for entry in fields.entries("tensors")}
    tensors: list[Arg | Output] = [arg for arg in signature.args if arg.type.is_tensor]
    tensors += signature.outputs
    for name, entry in overrides.items():
        if all(tensor.name != name for tensor in tensors):
            known = one_of(tensor.name for tensor in tensors)
            message = f"'{name}' is not one of the op's tensors: {known}."
            raise SpecError.at(entry.key.position, message)
    operands: list[Operand] = []
    for tensor in tensors:
        entry_or_none = overrides.get(tensor.name)
        override = entry_or_none.value if entry_or_none else None
        if isinstance(override, Scalar) and override.text == "none":
            if isinstance(tensor, Output):
                message = (
                    f"Output '{tensor.name}' must be bound by every kernel; it cannot be 'none'."
                )
                raise SpecError.at(override.position, message)
            continue
        position = entry_or_none.key.position if entry_or_none else tensor.position
        operand = _operand(tensor, override, signature, axes, position)
        if operand.is_list and not repeats:
            message = f"'{operand.name}' is a list; set 'repeat' to the count of dispatches, "
            message += "one for each element."
            raise SpecError.at(fields.node.position, message)
        operands += _per_dispatch(operand, override)
    _check_absent(operands, axes)
    operands += _intermediates(fields, signature, axes, device)
    if len(operands) > MAX_BINDINGS:
        message = f"The kernel binds {len(operands)} tensors; the limit is {MAX_BINDINGS}."
        raise SpecError.at(fields.node.position, message)
    return tuple(operands)


def _per_dispatch(operand: Operand, override: Node | None) -> Iterator[Operand]:
    """The bindings of an operand: several, `xs_0`, `xs_1`, …, of a list that binds several elements
    per dispatch."""
    what = f"tensor '{operand.name}'"
    fields = Fields(as_mapping(override or Mapping(operand.position, ()), what), what)
    node = fields.scalar("per_dispatch")
    if node is None:
        yield operand
        return
    if not operand.is_list:
        message = f"'{operand.name}' is not a list; 'per_dispatch' is for lists of tensors."
        raise SpecError.at(node.position, message)
    count = as_int(node, "'per_dispatch'")
    if not 2 <= count < MAX_BINDINGS:
        message = f"'per_dispatch' ({count}) must be from 2 to {MAX_BINDINGS - 1}."
        raise SpecError.at(node.position, message)
    for k in range(count):
        yield dataclasses.replace(operand, name=f"{operand.name}_{k}")


def load_access(
    fields: Fields, own: Fields, operands: Sequence[Operand]
) -> Map[str, tuple[VectorAccess, ...]]:
    """The vector access of tensors. The kernel's `own` entries name bound tensors; defaults of a
    template may name tensors that not every kernel binds."""
    bound = [operand.name for operand in operands]
    for entry in own.entries("access"):
        if entry.key.text not in bound:
            message = f"'{entry.key.text}' is not one of the kernel's tensors: {one_of(bound)}."
            raise SpecError.at(entry.key.position, message)
    found = {}
    for entry in fields.entries("access"):
        nodes = entry.value.items if isinstance(entry.value, List) else (entry.value,)
        found[entry.key.text] = tuple(as_word(node, VectorAccess, "Access") for node in nodes)
    return found


def _intermediates(
    fields: Fields, signature: Signature, axes: Axes, device: Scope
) -> Iterator[Operand]:
    """Buffers that other operators compute before the kernel runs."""
    taken = {arg.name for arg in signature.args} | {out.name for out in signature.outputs}
    for entry in fields.entries("intermediates"):
        name = check_name(entry.key, "Intermediate", lower=True)
        if name in taken:
            message = f"Intermediate '{name}' has the name of an argument or output."
            raise SpecError.at(entry.key.position, message)
        what = f"intermediate '{name}'"
        own = Fields.of(as_mapping(entry.value, what), what, _INTERMEDIATE_KEYS)
        own.need_scalar("of")
        yield Operand(
            name=name,
            source=OperandSource.INTERMEDIATE,
            index=0,
            is_list=False,
            optional=False,
            access=Access.READ,
            dtype=_stated_dtype(own, axes) or "dtype",
            storage=Storage.BUFFER,
            pack=_pack(own, "of", device),
            position=entry.key.position,
        )


def _operand(
    tensor: Arg | Output, override: Node | None, signature: Signature, axes: Axes, position: object
) -> Operand:
    node = Mapping(tensor.position, ()) if override is None else override
    fields = Fields.of(
        as_mapping(node, f"tensor '{tensor.name}'"), f"tensor '{tensor.name}'", _KEYS
    )
    is_output = isinstance(tensor, Output)
    access_node = fields.get("access")
    access = Access.WRITE if is_output else Access.READ
    if access_node is not None:
        access = as_word(access_node, Access, "Access")
        _check_access(tensor, access, access_node)
    storage = _storage(fields, axes)
    return Operand(
        name=tensor.name,
        source=OperandSource.OUTPUT if is_output else OperandSource.ARG,
        index=tensor.index,
        is_list=isinstance(tensor, Arg) and tensor.type.value == "tensor[]",
        optional=isinstance(tensor, Arg) and tensor.optional,
        access=access,
        dtype=_dtype(fields, tensor, signature, axes),
        storage=storage,
        pack=_pack(fields, "pack", signature.scope),
        position=position,  # type: ignore[arg-type]
    )


def _check_access(tensor: Arg | Output, access: Access, node: Node) -> None:
    """Kernels must not write args: they can be weights, or have other readers."""
    if isinstance(tensor, Arg) and access is not Access.READ:
        message = f"Argument '{tensor.name}' is read-only; a kernel writes only its outputs."
        raise SpecError.at(node.position, message)
    if isinstance(tensor, Output) and access is Access.READ:
        message = f"Output '{tensor.name}' must be written by every kernel; its access is "
        raise SpecError.at(node.position, message + "'write' or 'readwrite'.")


def _check_absent(operands: Sequence[Operand], axes: Axes) -> None:
    """Fails if an absent texture has no substitute: the runtime binds another input instead."""
    read = [x for x in operands if x.access is Access.READ and not (x.optional or x.is_list)]
    for operand in operands:
        if not operand.optional or operand.storage is Storage.BUFFER or not _has_texture(axes):
            continue
        if any((x.storage, x.dtype) == (operand.storage, operand.dtype) for x in read):
            continue
        message = (
            f"Tensor '{operand.name}' is optional, and no required input has the same dtype and "
            f"storage to be bound in its place. Bind it as a buffer: "
            f"tensors: {{{operand.name}: {{storage: buffer}}}}."
        )
        raise SpecError.at(operand.position, message)


def _has_texture(axes: Axes) -> bool:
    return any(x.is_texture for axis in axes.axes for x in axis.values if isinstance(x, Storage))


def _storage(fields: Fields, axes: Axes) -> Storage | str:
    scalar = fields.scalar("storage")
    if scalar is None:
        return "storage"
    axis = axes.named(scalar.text)
    if axis is not None and isinstance(axis.values[0], Storage):
        return axis.name
    if scalar.text not in Storage.__members__.values():
        names = [a.name for a in axes.axes if isinstance(a.values[0], Storage)]
        message = f"Storage '{scalar.text}' is not one of: {one_of([*Storage, *names])}."
        raise SpecError.at(scalar.position, message)
    return Storage(scalar.text)


def _dtype(fields: Fields, tensor: Arg | Output, signature: Signature, axes: Axes) -> DType | str:
    return _stated_dtype(fields, axes) or _default_dtype(tensor, signature)


def _stated_dtype(fields: Fields, axes: Axes) -> DType | str | None:
    scalar = fields.scalar("dtype")
    if scalar is None:
        return None
    axis = axes.named(scalar.text)
    if axis is not None and isinstance(axis.values[0], DType):
        return axis.name
    if scalar.text not in DType.__members__.values():
        names = [a.name for a in axes.axes if isinstance(a.values[0], DType)]
        message = f"DType '{scalar.text}' is not one of: {one_of([*DType, *names])}."
        raise SpecError.at(scalar.position, message)
    return DType(scalar.text)


def _default_dtype(tensor: Arg | Output, signature: Signature) -> DType | str:
    if isinstance(tensor, Arg):
        return tensor.dtype if tensor.dtype is not None else "dtype"
    if isinstance(tensor.dtype, Literal):
        return DType(str(tensor.dtype.value))
    for name in _dtype_sources(tensor.dtype):
        arg = signature.arg(name)
        if arg is not None:
            return arg.dtype if arg.dtype is not None else "dtype"
    return "dtype"


def _dtype_sources(expression: Expr) -> Iterator[str]:
    """The tensor whose dtype an expression is, if it is `x.dtype`."""
    while isinstance(expression, Apply) and expression.operands:
        expression = expression.operands[0]
    if isinstance(expression, Variable):
        yield expression.name


def _pack(fields: Fields, key: str, scope: Scope) -> Pack | None:
    node = fields.get(key)
    if node is None:
        return None
    scalar = as_scalar(node, f"'{key}'")
    match = re.fullmatch(r"\s*([\w.]+)\((.*)\)\s*", scalar.text)
    if match is None:
        message = f"'{key}' must be a call of an operator, such as spirloom.pack_x(weight, groups)."
        raise SpecError.at(scalar.position, message)
    return Pack(
        match[1], tuple(_pack_args(scalar, match.start(2), match[2], scope)), scalar.position
    )


def _pack_args(scalar: Scalar, offset: int, text: str, scope: Scope) -> Iterator[Expr]:
    start = offset
    for piece in split_args(text):
        yield parse_text(
            piece,
            scalar.part(start, start + len(piece)),
            scope,
            Kind.TENSOR,
            Kind.INT,
            Kind.FLOAT,
            Kind.BOOL,
            Kind.INTS,
            Kind.STR,
        )
        start += len(piece) + 1


_KINDS = {
    ArgType.TENSOR: Kind.TENSOR,
    ArgType.INT: Kind.INT,
    ArgType.FLOAT: Kind.FLOAT,
    ArgType.NUMBER: Kind.FLOAT,
    ArgType.BOOL: Kind.BOOL,
    ArgType.INTS: Kind.INTS,
    ArgType.STR: Kind.STR,
}


@cache
def builtin_ops() -> dict[str, Path]:
    """The specs of Spirloom's own ops, by op name: any of them can be a packing op."""
    directory = Directory(BUILTIN_SPECS, BUILTIN_SPECS.name)
    return {
        Fields(op.spec, "a spec").need_scalar("op").text: path
        for path in directory.ending(".yaml")
        for op in operators_of(directory.file(directory.relative(path)))
    }


def link_packs(kernel: Kernel, by_name: Map[str, Op]) -> Kernel:
    """The kernel with the args of its packing calls converted, and defaults added."""
    if all(operand.pack is None for operand in kernel.operands):
        return kernel
    operands = tuple(_link(operand, by_name) for operand in kernel.operands)
    return dataclasses.replace(kernel, operands=operands)


def _link(operand: Operand, by_name: Map[str, Op]) -> Operand:
    pack = operand.pack
    if pack is None:
        return operand
    op = by_name.get(pack.op)
    if op is None:
        known = one_of(sorted(x for x in {*by_name, *builtin_ops()} if ".pack_" in x))
        message = f"Packing op '{pack.op}' is not one of: {known}."
        raise SpecError.at(pack.position, message)
    if len(pack.args) > len(op.args) or len(op.outputs) != 1:
        message = (
            f"{op.name} has {len(op.args)} args and {len(op.outputs)} outputs; expected 1 output "
        )
        message += f"and at most {len(op.args)} args in the call, which has {len(pack.args)}."
        raise SpecError.at(pack.position, message)
    given = [*pack.args, *[None] * (len(op.args) - len(pack.args))]
    args = tuple(_argument(pack, arg, value) for arg, value in zip(op.args, given, strict=True))
    kernels = [each for each in op.kernels if not each.test_only]
    needs = frozenset.intersection(*(each.needs for each in kernels)) if kernels else frozenset()
    return dataclasses.replace(operand, pack=dataclasses.replace(pack, args=args, needs=needs))


def _argument(pack: Pack, arg: Arg, given: Expr | None) -> Expr | None:
    if given is None:
        if arg.required or arg.default_of is not None:
            raise SpecError.at(pack.position, f"Argument '{arg.name}' of {pack.op} is missing.")
        return None if arg.default is None else _default(arg, arg.default)
    kind = _KINDS.get(arg.type)
    if kind is Kind.FLOAT and given.kind is Kind.INT:
        return Apply(Kind.FLOAT, ops.TO_FLOAT, (given,), None, given.names)
    if given.kind is not kind:
        message = f"Argument '{arg.name}' of {pack.op} is {given.kind}; expected {arg.type}."
        raise SpecError.at(pack.position, message)
    return given


def _default(arg: Arg, value: Value) -> Expr:
    return Literal(_KINDS[arg.type], value)
