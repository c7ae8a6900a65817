"""The key `bounds`: the bounds of the outputs, as formulas of those of the arguments."""

from __future__ import annotations

from dataclasses import replace

from spec_model.errors import SpecError, one_of
from spec_model.expr.check import parse
from spec_model.expr.types import Expr, Kind
from spec_model.fields import Fields, as_scalar
from spec_model.load.signature import Signature
from spec_model.yaml_reader import Entry, Mapping


def load_bounds(fields: Fields, signature: Signature) -> tuple[Expr | None, ...]:
    """By output, its formula: from `EXPR`, of the only output, or from a map OUTPUT → EXPR."""
    node = fields.get("bounds")
    scope = replace(signature.scope, bounds=True)
    names = [output.name for output in signature.outputs]
    if node is None:
        return (None,) * len(names)
    if not isinstance(node, Mapping):
        if len(names) != 1:
            message = f"An op of several outputs needs a map of 'bounds': {one_of(names)}."
            raise SpecError.at(node.position, message)
        return (parse(as_scalar(node, "'bounds'"), scope, Kind.INTERVAL),)
    found = {_output(entry, names): as_scalar(entry.value, "bounds") for entry in node.entries}
    return tuple(
        parse(found[name], scope, Kind.INTERVAL) if name in found else None for name in names
    )


def _output(entry: Entry, names: list[str]) -> str:
    if entry.key.text not in names:
        message = f"'{entry.key.text}' is not an output: {one_of(names)}."
        raise SpecError.at(entry.key.position, message)
    return entry.key.text
