"""The key `updates`: which outputs are the updated wholes of which args."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codegen.errors import SpecError
from codegen.expr.check import parse
from codegen.expr.types import Kind
from codegen.fields import Fields, as_scalar
from codegen.signature import Signature
from codegen.spec import Arg, ArgType, Kernel, Output
from codegen.vocabulary import Storage
from codegen.yaml_reader import Entry, Mapping, Scalar


def load_updates(
    fields: Fields, signature: Signature, kernels: Sequence[Kernel]
) -> tuple[int | None, ...]:
    """By output, the arg that it is the updated whole of: of `ARG`, or of a map OUTPUT → ARG."""
    updated = dict(_updated(fields, signature))
    for name, arg in updated.items():
        for kernel in kernels:
            _check_kernel(kernel, name, arg)
    args = {name: arg.index for name, arg in updated.items()}
    return tuple(args.get(output.name) for output in signature.outputs)


def _updated(fields: Fields, signature: Signature) -> Iterator[tuple[str, Arg]]:
    node = fields.get("updates")
    if isinstance(node, Mapping):
        for entry in node.entries:
            yield _named(entry, signature)
    elif node is not None:
        yield _alone(as_scalar(node, "'updates'"), signature)


def _alone(scalar: Scalar, signature: Signature) -> tuple[str, Arg]:
    arg = _arg(scalar, signature)
    if len(signature.outputs) != 1 or not _is_like(signature.outputs[0], scalar, signature):
        message = (
            f"An op that updates '{scalar.text}' has one output, which is 'like {scalar.text}'."
        )
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
        message = f"Output '{name}' updates '{scalar.text}', but is not like it."
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
    """The runtime puts the old value into the output, or lets it live where that is."""
    if any(not x.is_output and x.index == arg.index for x in kernel.operands):
        message = (
            f"Kernel '{kernel.name}' binds '{arg.name}', which the op updates: the output holds "
            f"its elements already. Say 'tensors: {{{arg.name}: none}}'."
        )
        raise SpecError.at(kernel.position, message)
    (output,) = (x for x in kernel.operands if x.is_output and x.name == name)
    storages = {value for axis in kernel.axes if axis.name == "storage" for value in axis.values}
    follows = output.storage == "storage" and storages == {Storage.BUFFER}
    if output.storage is not Storage.BUFFER and not follows:
        message = f"Kernel '{kernel.name}' updates '{arg.name}' elsewhere than in a buffer."
        raise SpecError.at(kernel.position, message)
