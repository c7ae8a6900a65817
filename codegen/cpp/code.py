"""Expressions as C++, and the declarations of the names they use."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.expr.emit import CPP_TYPES, emit
from codegen.expr.types import Expr, Kind, Origin, Variable
from codegen.op import Op
from codegen.signature import variable_of
from codegen.spec import Let


@dataclass(frozen=True, slots=True)
class Local:
    """A name a function declares before it uses it: an argument, an output or a let."""

    origin: str  # "arg", "out" or "let"
    kind: str
    type: str  # of a let, in C++
    name: str
    index: int  # of an argument or output
    value: str  # of a let


def _name(variable: Variable) -> str:
    if variable.origin is Origin.SPECIAL:
        return variable.name
    if variable.origin is Origin.DEVICE:
        return f"device.{variable.name}"
    return f"{variable.origin}_{variable.name}"


def code(expression: Expr) -> str:
    """The expression in C++."""
    return emit(expression, _name)


def code_or(expression: Expr | None) -> str:
    """The expression in C++; an empty text if there is none."""
    return "" if expression is None else code(expression)


def locals_of(op: Op, used: set[str]) -> list[Local]:
    """Declarations for the names, lets among them bringing their own, in an order that works."""
    lets = [step for step in op.steps if isinstance(step, Let)]
    for let in reversed(lets):
        if let.name in used:
            used |= let.value.names
    result = [
        Local("arg", variable_of(arg).kind.value, "", f"arg_{arg.name}", arg.index, "")
        for arg in op.args
        if arg.name in used
    ]
    result += [
        Local("out", Kind.TENSOR.value, "", f"out_{y.name}", y.index, "")
        for y in op.outputs
        if y.name in used
    ]
    return result + [
        Local("let", x.value.kind, CPP_TYPES[x.value.kind], f"let_{x.name}", 0, code(x.value))
        for x in lets
        if x.name in used
    ]
