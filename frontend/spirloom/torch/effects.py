"""Effect tokens, by which PyTorch orders calls such as the check of torch.linalg.inv."""

from __future__ import annotations

from dataclasses import replace

from spirloom.torch.program import Call, IgnoredValue, Kind, Program

_TOKEN = "token"
_WITH_EFFECTS = "higher_order.with_effects"


def without_tokens(program: Program) -> Program:
    """The program without tokens: a graph computes calls in their order."""
    inputs = [i for i in program.inputs if (i.kind, i.target) != (Kind.OTHER, _TOKEN)]
    return replace(program, inputs=tuple(inputs), calls=tuple(map(_called, program.calls)))


def _called(call: Call) -> Call:
    """The call that a call with a token makes: it reads the token, an operator and the operator's
    arguments, and returns the next token and the operator's results."""
    if call.target != _WITH_EFFECTS or len(call.arguments) < 2:
        return call
    operator = call.arguments[1].value
    if not isinstance(operator, IgnoredValue):
        return call
    return replace(
        call, target=operator.text, arguments=call.arguments[2:], results=call.results[1:]
    )
