"""A module of PyTorch for each operator, made from the test calls of its spec."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from spirloom.casegen.arrays import make_arrays, value_of
from spirloom.casegen.runs import Run, runs_of
from spirloom.ir import DType

from codegen import Op
from codegen.vocabulary import Storage
from tests.torch.spellings import SPELLINGS

DTYPES = {"f32": torch.float32, "f16": torch.float16, "i32": torch.int32, "i8": torch.int8,
          "u8": torch.uint8, "b8": torch.bool}  # fmt: skip
# What specs have beyond torch's operators: a norm before it, a fused activation, a sum after it.
_FUSED = ("norm", "norm_eps", "activation", "act_min", "act_max", "addend")


class Call(torch.nn.Module):  # type: ignore[misc]
    """A call of a function; tensors are the inputs, the rest is fixed."""

    def __init__(self, function: Callable[..., Any], args: list[Any]) -> None:
        super().__init__()
        self.function = function
        self.fixed = [None if _is_input(arg) else arg for arg in args]
        self.places = [i for i, arg in enumerate(args) if _is_input(arg)]
        self.lists = {i: len(arg) for i, arg in enumerate(args) if isinstance(arg, tuple)}

    def forward(self, *tensors: torch.Tensor) -> Any:
        args, given = list(self.fixed), iter(tensors)
        for place in self.places:
            count = self.lists.get(place)
            args[place] = next(given) if count is None else [next(given) for _ in range(count)]
        return self.function(*args)


def _is_input(arg: Any) -> bool:
    return isinstance(arg, torch.Tensor | tuple)


@dataclass(frozen=True)
class Example:
    """A module and the tensors to call it with."""

    name: str
    module: torch.nn.Module
    inputs: tuple[torch.Tensor, ...]


def examples(op: Op) -> Iterator[Example]:
    """Of the spec's test calls those without fused parts, as torch spells the operator."""
    seen = set()
    for run in runs_of(op):
        dtypes = (*run.dtypes.items(), *(y.dtype for y in run.outputs))
        if run.variant.storage is not Storage.BUFFER or DType.F16 in run.dtypes.values():
            continue
        fused = op.name.startswith("aten.") and any(_value(run, name) for name in _FUSED)
        if (run.case, dtypes) in seen or fused:
            continue
        seen.add((run.case, dtypes))
        inputs = make_arrays(run).inputs
        args = [_torch(run, arg, inputs.get(arg.name)) for arg in op.args if arg.name not in _FUSED]
        tensors = tuple(
            t for arg in args if _is_input(arg) for t in (arg if isinstance(arg, tuple) else (arg,))
        )
        yield Example(f"{run.variant.id}-{run.case}", Call(spelling(op), args), tensors)


def _value(run: Run, name: str) -> Any:
    arg = next((arg for arg in run.op.args if arg.name == name), None)
    return None if arg is None else value_of(run, arg)


def spelling(op: Op) -> Callable[..., Any]:
    """torch's function of an operator's arguments."""
    if op.name in SPELLINGS:
        return SPELLINGS[op.name]
    namespace, name, *overload = op.name.split(".")
    packet = getattr(getattr(torch.ops, namespace), name)
    form = getattr(packet, overload[0] if overload else "default")
    schema = [argument.name for argument in form._schema.arguments]
    keywords = {a.name for a in form._schema.arguments if a.kwarg_only}
    ours = [arg.name for arg in op.args if arg.name not in _FUSED]
    kinds = {argument.name: argument for argument in form._schema.arguments}

    def call(*args: Any) -> Any:
        args = tuple(_as_schema(kinds.get(n), a) for n, a in zip(ours, args, strict=True))
        named = {n: a for n, a in zip(ours, args, strict=True) if n in keywords}
        rest = [a for n, a in zip(ours, args, strict=True) if n not in keywords]
        places = {n: a for n, a in zip(ours, args, strict=True) if n in schema and n not in named}
        if all(n in schema for n in ours[1:]) and ours[0] not in schema:
            places.pop(ours[0], None)
            return form(args[0], **places, **named)
        return form(*rest, **named)

    return call


def _as_schema(argument: Any, value: Any) -> Any:
    """A spec's way to leave out a number: none in a list, or a 0 that would mean nothing."""
    if argument is None or not str(argument.type).startswith("Optional"):
        return value
    if isinstance(value, list) and "List" not in str(argument.type):
        return value[0] if value else None
    return None if value == 0 and argument.default_value is None else value


def _torch(run: Run, arg: Any, arrays: Any) -> Any:
    value = value_of(run, arg)
    if arg.name == "dtype":
        return DTYPES[str(value)]
    if value is None or not arg.type.is_tensor:
        if isinstance(value, tuple):
            return list(value)
        if isinstance(value, float) and arg.type == "number" and value.is_integer():
            return int(value) if abs(value) < 2**31 else value
        return value
    index = arg.dtype is not None and arg.dtype == DType.I32
    tensors = [
        torch.from_numpy(np.ascontiguousarray(x.data.astype(np.int64 if index else x.dtype.numpy)))
        for x in arrays
    ]
    return tuple(tensors) if isinstance(value, tuple) else tensors[0]
