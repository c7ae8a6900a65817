"""`domain`: which numbers the generated cases of an op may hold."""

from __future__ import annotations

from collections.abc import Iterable

from codegen.cases import load_range
from codegen.errors import SpecError
from codegen.fields import Fields
from codegen.spec import Arg, Domain
from codegen.spec.case import FLOATS, INTEGERS
from codegen.yaml_reader import Node, Scalar

_AS_TESTED = "tests"


def load_domain(fields: Fields, args: Iterable[Arg]) -> Domain:
    """Limits by tensor argument, or for all floats or integers; everything where none are given."""
    node = fields.get("domain")
    if node is None:
        return Domain({})
    tensors = [arg.name for arg in args if arg.type.is_tensor and arg.dtype is None]
    given = Fields.of(node, "'domain'", (*tensors, FLOATS, INTEGERS))
    return Domain({entry.key.text: _limits(entry.value) for entry in given.node.entries})


def _limits(node: Node) -> tuple[float, float] | None:
    if not isinstance(node, Scalar):
        return load_range(node)
    if node.text != _AS_TESTED:
        message = f"A domain is [LOW, HIGH] or '{_AS_TESTED}', not '{node.text}'."
        raise SpecError.at(node.position, message)
    return None
