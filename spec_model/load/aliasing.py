"""The keys `view_of`, `view_offset` and `in_place`: outputs that share memory with an argument."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spec_model.errors import SpecError
from spec_model.expr.check import parse
from spec_model.expr.types import Expr, Kind, Variable
from spec_model.fields import Fields, as_scalar
from spec_model.load.signature import Signature
from spec_model.spec import Arg, ArgType, Kernel, OperandSource, Output
from spec_model.vocabulary import Storage
from spec_model.yaml_reader import Entry, Mapping, Scalar


def load_view_of(fields: Fields, signature: Signature) -> int | None:
    scalar = fields.scalar("view_of")
    if scalar is None:
        return None
    variable = signature.scope.variables.get(scalar.text)
    arg = signature.arg(scalar.text)
    if not isinstance(variable, Variable) or variable.kind is not Kind.TENSOR or arg is None:
        raise SpecError.at(scalar.position, f"'{scalar.text}' is not a tensor argument.")
    if len(signature.outputs) != 1:
        message = f"An op with 'view_of' must have one output; it has {len(signature.outputs)}."
        raise SpecError.at(scalar.position, message)
    return arg.index


def load_view_offset(fields: Fields, signature: Signature) -> Expr | None:
    scalar = fields.scalar("view_offset")
    if scalar is None:
        return None
    if fields.get("view_of") is None:
        raise SpecError.at(scalar.position, "'view_offset' requires 'view_of'.")
    return parse(scalar, signature.scope, Kind.INT)


def load_in_place(
    fields: Fields, signature: Signature, kernels: Sequence[Kernel]
) -> tuple[int | None, ...]:
    """By output, the arg that it updates in place: from `ARG`, or from a map OUTPUT → ARG."""
    updated = dict(_updated(fields, signature))
    for name, arg in updated.items():
        for kernel in kernels:
            _check_kernel(kernel, name, arg)
    args = {name: arg.index for name, arg in updated.items()}
    return tuple(args.get(output.name) for output in signature.outputs)


def _updated(fields: Fields, signature: Signature) -> Iterator[tuple[str, Arg]]:
    node = fields.get("in_place")
    if isinstance(node, Mapping):
        for entry in node.entries:
            yield _named(entry, signature)
    elif node is not None:
        yield _single(as_scalar(node, "'in_place'"), signature)


def _single(scalar: Scalar, signature: Signature) -> tuple[str, Arg]:
    arg = _arg(scalar, signature)
    if len(signature.outputs) != 1 or not _is_like(signature.outputs[0], scalar, signature):
        message = f"An op that updates '{scalar.text}' in place must have one output, "
        message += f"'like {scalar.text}'."
        raise SpecError.at(scalar.position, message)
    return signature.outputs[0].name, arg


def _named(entry: Entry, signature: Signature) -> tuple[str, Arg]:
    outputs = {output.name: output for output in signature.outputs}
    name = entry.key.text
    if name not in outputs:
        raise SpecError.at(entry.key.position, f"'{name}' is not an output.")
    scalar = as_scalar(entry.value, f"'{name}'")
    arg = _arg(scalar, signature)
    if not _is_like(outputs[name], scalar, signature):
        message = (
            f"Output '{name}' updates '{scalar.text}' in place; it must be 'like {scalar.text}'."
        )
        raise SpecError.at(scalar.position, message)
    return name, arg


def _arg(scalar: Scalar, signature: Signature) -> Arg:
    arg = signature.arg(scalar.text)
    if arg is None or arg.type is not ArgType.TENSOR or arg.optional:
        raise SpecError.at(scalar.position, f"'{scalar.text}' is not a tensor argument.")
    return arg


def _is_like(output: Output, scalar: Scalar, signature: Signature) -> bool:
    like = Scalar(scalar.position, f"{scalar.text}.shape", False, False)
    return output.shape == parse(like, signature.scope, Kind.INTS)


def _check_kernel(kernel: Kernel, name: str, arg: Arg) -> None:
    """Fails if a kernel binds the arg: the runtime aliases it with the output, or copies it."""
    if any(x.source is OperandSource.ARG and x.index == arg.index for x in kernel.operands):
        message = (
            f"Kernel '{kernel.name}' binds '{arg.name}', which the op updates in place: bind only "
            f"the output. Add 'tensors: {{{arg.name}: none}}'."
        )
        raise SpecError.at(kernel.position, message)
    (output,) = (x for x in kernel.operands if x.is_output and x.name == name)
    storages = {value for axis in kernel.axes if axis.name == "storage" for value in axis.values}
    follows = output.storage == "storage" and storages == {Storage.BUFFER}
    if output.storage is not Storage.BUFFER and not follows:
        message = f"Kernel '{kernel.name}' updates '{arg.name}' in place; it supports only buffers."
        raise SpecError.at(kernel.position, message)
