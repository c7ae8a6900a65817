"""The tensors a kernel binds, and the packed forms in which it reads some of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from codegen.axes import Axes
from codegen.errors import SpecError, one_of
from codegen.expr.check import parse_text
from codegen.expr.types import Apply, Expr, Kind, Literal, Variable
from codegen.fields import Fields, as_mapping, as_scalar, as_word
from codegen.signature import Signature
from codegen.spec import Arg, Operand, Output, Pack
from codegen.vocabulary import MAX_BINDINGS, Access, DType, Storage
from codegen.yaml_reader import Mapping, Node, Scalar

_KEYS = ("dtype", "storage", "access", "pack")


def load_operands(
    fields: Fields, signature: Signature, axes: Axes, repeats: bool
) -> tuple[Operand, ...]:
    """The bound tensors, in order of binding: args, then outputs."""
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
                message = f"Output '{tensor.name}' is written by every kernel; it cannot be 'none'."
                raise SpecError.at(override.position, message)
            continue
        position = entry_or_none.key.position if entry_or_none else tensor.position
        operand = _operand(tensor, override, signature, axes, position)
        if operand.is_list and not repeats:
            message = (
                f"'{operand.name}' is a list; 'repeat' says how many dispatches bind its elements."
            )
            raise SpecError.at(fields.node.position, message)
        operands.append(operand)
    _check_absent(operands, axes)
    if len(operands) > MAX_BINDINGS:
        message = f"A kernel binds at most {MAX_BINDINGS} tensors, not {len(operands)}."
        raise SpecError.at(fields.node.position, message)
    return tuple(operands)


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
        is_output=is_output,
        index=tensor.index,
        is_list=isinstance(tensor, Arg) and tensor.type.value == "tensor[]",
        optional=isinstance(tensor, Arg) and tensor.optional,
        access=access,
        dtype=_dtype(fields, tensor, signature, axes),
        storage=storage,
        pack=_pack(fields, signature),
        position=position,  # type: ignore[arg-type]
    )


def _check_access(tensor: Arg | Output, access: Access, node: Node) -> None:
    """Arguments may be weights, or have other readers."""
    if isinstance(tensor, Arg) and access is not Access.READ:
        message = f"Argument '{tensor.name}' is only read; a kernel writes its outputs alone."
        raise SpecError.at(node.position, message)
    if isinstance(tensor, Output) and access is Access.READ:
        message = f"Output '{tensor.name}' is written by every kernel; its access is "
        raise SpecError.at(node.position, message + "'write' or 'readwrite'.")


def _check_absent(operands: Sequence[Operand], axes: Axes) -> None:
    """In textures that are absent the runtime binds another that the kernel reads."""
    read = [x for x in operands if x.access is Access.READ and not (x.optional or x.is_list)]
    for operand in operands:
        if not operand.optional or operand.storage is Storage.BUFFER or not _has_texture(axes):
            continue
        if any((x.storage, x.dtype) == (operand.storage, operand.dtype) for x in read):
            continue
        message = (
            f"Tensor '{operand.name}' may be absent, and no other input is sure to be there, of "
            f"its dtype and storage; let it live in a buffer: "
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
    scalar = fields.scalar("dtype")
    if scalar is None:
        return _default_dtype(tensor, signature)
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
    """The tensors whose dtype an expression is, if it is simply that."""
    while isinstance(expression, Apply) and expression.operands:
        expression = expression.operands[0]
    if isinstance(expression, Variable):
        yield expression.name


def _pack(fields: Fields, signature: Signature) -> Pack | None:
    node = fields.get("pack")
    if node is None:
        return None
    scalar = as_scalar(node, "'pack'")
    match = re.fullmatch(r"\s*([\w.]+)\((.*)\)\s*", scalar.text)
    if match is None:
        message = "A pack is a call of a packing op, e.g. spirloom.pack_x(weight, groups)."
        raise SpecError.at(scalar.position, message)
    return Pack(
        match[1], tuple(_pack_args(scalar, match.start(2), match[2], signature)), scalar.position
    )


def _pack_args(scalar: Scalar, offset: int, text: str, signature: Signature) -> Iterator[Expr]:
    start = 0
    for piece in split_args(text):
        at = Scalar(scalar.at(offset + start), piece, scalar.quoted, scalar.one_line)
        yield parse_text(
            piece,
            at,
            signature.scope,
            Kind.TENSOR,
            Kind.INT,
            Kind.FLOAT,
            Kind.BOOL,
            Kind.INTS,
            Kind.STR,
        )
        start += len(piece) + 1


def split_args(text: str) -> list[str]:
    """Splits at the commas outside brackets."""
    if not text.strip():
        return []
    pieces, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            pieces.append(text[start:i])
            start = i + 1
    return [*pieces, text[start:]]
