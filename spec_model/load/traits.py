"""The key `traits` of a spec, and what the loader can check of them."""

from __future__ import annotations

from collections.abc import Mapping

from spec_model.errors import SpecError
from spec_model.expr.check import parse
from spec_model.expr.types import Expr, Kind, Origin, Scope
from spec_model.fields import Fields, as_scalar, as_word
from spec_model.load.signature import Signature
from spec_model.spec import ArgType
from spec_model.traits import MOVEMENT, Trait, in_order
from spec_model.yaml_reader import Mapping as YamlMapping
from spec_model.yaml_reader import Node, Scalar


def load_traits(fields: Fields, signature: Signature) -> Mapping[Trait, Expr | None]:
    """The traits, each with the condition on the call under which the op has it (None: always).

    A list item is a trait, or `TRAIT: CONDITION`. The spec's list follows that of its template, and
    the last item of a trait applies.
    """
    found: dict[Trait, Expr | None] = {}
    for item in fields.items("traits"):
        trait, condition = _load(item, signature.scope)
        if trait is Trait.MOVES_DATA:
            _check_movement(item, signature)
        found[trait] = condition
    for trait, condition in list(found.items()):
        for implied in trait.implied:
            found.setdefault(implied, condition)
    return {trait: found[trait] for trait in in_order(found)}


def _load(item: Node, scope: Scope) -> tuple[Trait, Expr | None]:
    if isinstance(item, Scalar):
        return _trait(item), None
    entries = item.entries if isinstance(item, YamlMapping) else ()
    if len(entries) != 1:
        message = "A trait is a name, or one name with a condition: 'selects: not accumulate'."
        raise SpecError.at(item.position, message)
    trait, condition = entries[0].key, as_scalar(entries[0].value, "a condition")
    return _trait(trait), parse(condition, scope, Kind.BOOL)


def _trait(scalar: Scalar) -> Trait:
    return as_word(scalar, Trait, "Trait")


def _check_movement(item: Node, signature: Signature) -> None:
    """Fails unless the names of a strided copy are defined, and the op has one source."""
    for name, kind in MOVEMENT.items():
        variable = signature.scope.variables.get(name)
        if variable is not None and (variable.origin, variable.kind) == (Origin.LET, kind):
            continue
        word = "ints" if kind is Kind.INTS else "an int"
        message = f"Trait '{Trait.MOVES_DATA}' requires '{name}', {word}, in 'let'."
        raise SpecError.at(item.position, message)
    tensors = [arg for arg in signature.args if arg.type.is_tensor]
    first = signature.args[0].type if signature.args else None
    if first is not ArgType.TENSOR or len(tensors) != 1 or len(signature.outputs) != 1:
        message = f"Trait '{Trait.MOVES_DATA}' requires one tensor, as the first argument, "
        raise SpecError.at(item.position, message + "and one output.")
