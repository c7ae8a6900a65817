"""The key `onnx` of a spec: the ONNX operators that it computes alone."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

from spec_model.errors import ErrorList, Position, SpecError, one_of
from spec_model.fields import Fields, as_mapping, as_scalar
from spec_model.load.signature import Signature, scalar_value
from spec_model.op import Op
from spec_model.spec import OnnxArg, OnnxMapping
from spec_model.yaml_reader import Entry, Mapping, Scalar, Sequence

_NAME = re.compile(r"([A-Za-z_]\w*\.)*[A-Za-z_]\w*", re.ASCII)


def load_onnx(fields: Fields, signature: Signature) -> tuple[OnnxMapping, ...]:
    """`NAME`, a list of names, or a map NAME → {ARGUMENT: ATTRIBUTE = DEFAULT, ARGUMENT: VALUE}."""
    node = fields.get("onnx")
    if isinstance(node, Mapping):
        return tuple(_mapping(entry, signature) for entry in node.entries)
    items = node.items if isinstance(node, Sequence) else () if node is None else (node,)
    names = [as_scalar(item, "an ONNX operator") for item in items]
    return tuple(_checked(OnnxMapping(_name(name), name.position), signature) for name in names)


def _mapping(entry: Entry, signature: Signature) -> OnnxMapping:
    entries = as_mapping(entry.value, f"'{entry.key.text}'").entries
    args = tuple(_arg(given, signature) for given in entries)
    return _checked(OnnxMapping(_name(entry.key), entry.key.position, args), signature)


def _name(scalar: Scalar) -> str:
    if not _NAME.fullmatch(scalar.text):
        message = f"ONNX operator '{scalar.text}' is invalid; expected a name such as Abs, or "
        raise SpecError.at(scalar.position, message + "com.microsoft.Gelu with a domain.")
    return scalar.text


def _arg(entry: Entry, signature: Signature) -> OnnxArg:
    arg = signature.arg(entry.key.text)
    if arg is None or arg.type.is_tensor:
        names = one_of(each.name for each in signature.args if not each.type.is_tensor)
        message = f"'{entry.key.text}' is not an argument that an attribute sets; they are: "
        raise SpecError.at(entry.key.position, f"{message}{names}.")
    scalar = as_scalar(entry.value, f"'{arg.name}'")
    attribute, equals, default = scalar.text.rpartition("=")
    if not equals:
        return OnnxArg(arg.name, "", scalar_value(arg, scalar))
    if not attribute.strip().isidentifier():
        message = f"Attribute '{attribute.strip()}' is not a name; expected 'ATTRIBUTE = DEFAULT'."
        raise SpecError.at(scalar.position, message)
    text = dataclasses.replace(scalar, text=default.strip(), located=False)
    return OnnxArg(arg.name, attribute.strip(), scalar_value(arg, text))


def _checked(mapping: OnnxMapping, signature: Signature) -> OnnxMapping:
    """Fails if an argument without a default has no value."""
    given = {arg.name for arg in mapping.args}
    for arg in signature.args:
        if arg.required and not arg.type.is_tensor and arg.name not in given:
            message = f"'{mapping.name}' does not set argument '{arg.name}', which has no default."
            raise SpecError.at(mapping.position, message)
    return mapping


def check_onnx(ops: Iterable[Op]) -> None:
    """Fails if two specs have the same ONNX operator."""
    errors = ErrorList()
    first: dict[str, Position] = {}
    for mapping in _all(ops):
        known = first.setdefault(mapping.name, mapping.position)
        if known is not mapping.position:
            message = f"ONNX operator '{mapping.name}' is also computed at {known}; remove one."
            with errors:
                raise SpecError.at(mapping.position, message)
    errors.raise_any()


def _all(ops: Iterable[Op]) -> Iterator[OnnxMapping]:
    for op in ops:
        yield from op.onnx
