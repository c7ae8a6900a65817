"""Compares the signatures of the `aten.*` specs with PyTorch's schemas.

As a program, prints the differences. Requires PyTorch 2.13, which has all of the operators.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from spirloom.op_library import OWN_SPECS, OWN_TEMPLATES
from spirloom.torch.argument_binding import arg_for, changes_nothing

from spec_model import Arg, ArgType, Op, load_library

LIBRARY = load_library(OWN_SPECS, OWN_TEMPLATES)

# Accepted differences of specs from the schema, with reasons.
DIFFERENCES = {
    ("aten.clamp.Tensor", "min"): "one bound alone is aten.maximum or aten.minimum",
    ("aten.clamp.Tensor", "max"): "one bound alone is aten.maximum or aten.minimum",
    ("aten.div.Tensor_mode", "rounding_mode"): "None is aten.div.Tensor",
    ("aten.div.Scalar_mode", "rounding_mode"): "None is aten.div.Tensor",
}
# The number of outputs of specs without PyTorch's last ones, which only training uses.
FEWER_OUTPUTS = {
    "aten._native_batch_norm_legit_no_training": 1,
    "aten.native_group_norm": 1,
    "aten.native_layer_norm": 1,
}

# The types of a spec that may represent PyTorch's types.
_KINDS: dict[str, set[ArgType]] = {
    "Tensor": {ArgType.TENSOR},
    "List[Tensor]": {ArgType.TENSORS},
    "int": {ArgType.INT, ArgType.INTS},
    "List[int]": {ArgType.INTS},
    "float": {ArgType.FLOAT},
    "number": {ArgType.NUMBER, ArgType.FLOAT},
    "bool": {ArgType.BOOL},
    "str": {ArgType.STR},
}


def schema_of(name: str) -> Any:
    """PyTorch's schema of an overload."""
    _, packet, *overload = name.split(".")
    return getattr(getattr(torch.ops.aten, packet), *overload or ["default"])._schema


def differences(op: Op, name: str) -> Iterator[tuple[str, str]]:
    """The differences of an overload that the op computes, as (argument, problem)."""
    bound: list[Arg] = []
    for index, given in enumerate(schema_of(name).arguments):
        arg = arg_for(op.args, index, given.name)
        if arg is None:
            if not changes_nothing(given.name, None):
                yield given.name, "is not an argument of the spec"
            continue
        if arg in bound:
            yield given.name, f"is {arg.name}, as another argument is"
        bound.append(arg)
        yield from ((given.name, what) for what in _of_argument(given, arg, name != op.name))
    indices = [arg.index for arg in bound]
    if indices != sorted(indices) and name == op.name:
        yield "", f"the order is {', '.join(arg.name for arg in bound)}"
    for arg in op.args:
        if arg not in bound and (arg.required or (name == op.name and arg.index < max(indices))):
            yield arg.name, "is not PyTorch's, but required or before one of PyTorch's"
    outputs = len(schema_of(name).returns)
    if len(op.outputs) != FEWER_OUTPUTS.get(name, outputs):
        yield "", f"has {len(op.outputs)} outputs instead of {outputs}"


def _of_argument(given: Any, arg: Arg, other_overload: bool) -> Iterator[str]:
    """The problems of a spec's argument; `given` is PyTorch's."""
    kind, optional = _type(given)
    if given.name == "dtype":
        if arg.type is not ArgType.STR:
            yield f"is {arg.type}"
        return
    kinds = _KINDS.get(kind, set())
    if kind == "number" and other_overload:
        kinds = kinds | {ArgType.TENSOR}  # converted to a constant of rank 0
    if arg.type not in kinds:
        yield f"is {arg.type} instead of {kind}"
    if arg.name != given.name and not arg.type.is_tensor and not other_overload:
        yield f"is named {arg.name}"
    if arg.name != given.name and given.kwarg_only:
        yield f"is named {arg.name}, but is keyword-only"
    if (optional or given.has_default_value()) and arg.required:
        yield "is optional in PyTorch"
    if given.has_default_value() and not _is_default(given.default_value, arg):
        yield f"has the default {given.default_value}, not {arg.default}"


def _type(given: Any) -> tuple[str, bool]:
    """PyTorch's type without Optional[…], and whether it is optional."""
    text = str(given.type)
    inner = text.removeprefix("Optional[")
    return (text, False) if inner == text else (inner.removesuffix("]"), True)


def _is_default(value: Any, arg: Arg) -> bool:
    """Whether both defaults are equal. The spec defines the meaning of None and of no ints."""
    if value is None or (value == [] and arg.length is not None):
        return not arg.required
    wanted = tuple(value) if isinstance(value, list) else value
    return bool(arg.default == wanted or (isinstance(wanted, int) and arg.default == (wanted,)))


def overloads() -> list[tuple[Op, str]]:
    """All PyTorch overloads that specs support."""
    ops = sorted(LIBRARY.ops.values(), key=lambda op: op.name)
    names = [(op, name) for op in ops for name in (op.name, *op.overloads)]
    return [(op, name) for op, name in names if name.startswith("aten.")]


@pytest.mark.parametrize(("op", "name"), [pytest.param(*each, id=each[1]) for each in overloads()])
def test_signature(op: Op, name: str) -> None:
    found = [(arg, what) for arg, what in differences(op, name) if (name, arg) not in DIFFERENCES]
    assert not found


def test_every_difference_exists() -> None:
    known = {(name, arg) for op, name in overloads() for arg, _ in differences(op, name)}
    assert {*DIFFERENCES} <= known
    for name, count in FEWER_OUTPUTS.items():
        assert count == len(LIBRARY.ops[name].outputs) < len(schema_of(name).returns)


if __name__ == "__main__":
    for op, name in overloads():
        for arg, what in differences(op, name):
            print(f"{name:44} {arg:18} {what}")
