"""`domain`: which numbers the generated cases of an op may hold."""

from __future__ import annotations

from collections.abc import Iterable

from codegen.cases import load_range
from codegen.errors import SpecError, one_of
from codegen.fields import Fields
from codegen.spec import Arg, Domain, Output
from codegen.spec.case import FLOATS, INTEGERS, Limits
from codegen.yaml_reader import Node, Scalar

_AS_TESTED = "tests"


def load_domain(fields: Fields, args: Iterable[Arg], outputs: Iterable[Output]) -> Domain:
    """Limits by tensor argument, or for all floats or integers; everything where none are given."""
    node = fields.get("domain")
    if node is None:
        return Domain({})
    tensors = [arg.name for arg in args if arg.type.is_tensor and arg.dtype is None]
    given = Fields.of(node, "'domain'", (*tensors, FLOATS, INTEGERS))
    names = [output.name for output in outputs]
    return Domain({entry.key.text: _limits(entry.value, names) for entry in given.node.entries})


def _limits(node: Node, outputs: list[str]) -> Limits:
    if not isinstance(node, Scalar):
        return load_range(node)
    if node.text == _AS_TESTED:
        return None
    if node.text not in outputs:
        message = f"A domain is [LOW, HIGH], '{_AS_TESTED}' or the name of an output "
        message += f"({one_of(outputs)}), not '{node.text}'."
        raise SpecError.at(node.position, message)
    return node.text
