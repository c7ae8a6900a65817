"""Creates a PyTorch module for each operator from the test calls of its spec."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from spirloom.casegen.arrays import make_arrays, value_of
from spirloom.casegen.runs import Run, runs_of
from spirloom.ir import DType

from spec_model import Op
from spec_model.vocabulary import Storage
from tests.torch.torch_functions import TORCH_FUNCTIONS

DTYPES: dict[str, torch.dtype] = {dtype: getattr(torch, dtype.long_name) for dtype in DType}
# Arguments of fused operations, which torch's operators do not have.
_FUSED = ("rms_weight", "rms_eps", "activation", "act_min", "act_max", "addend")


class Call(torch.nn.Module):  # type: ignore[misc]
    """Calls a function with tensors as inputs; other arguments are constant."""

    def __init__(self, function: Callable[..., Any], args: list[Any]) -> None:
        super().__init__()
        self.function = function
        self.fixed = [None if _is_input(arg) else arg for arg in args]
        self.input_indices = [i for i, arg in enumerate(args) if _is_input(arg)]
        self.lists = {i: len(arg) for i, arg in enumerate(args) if isinstance(arg, tuple)}

    def forward(self, *tensors: torch.Tensor) -> Any:
        args, inputs = list(self.fixed), iter(tensors)
        for i in self.input_indices:
            count = self.lists.get(i)
            args[i] = next(inputs) if count is None else [next(inputs) for _ in range(count)]
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
    """The spec's test calls without fused operations, as calls of torch's function."""
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
        yield Example(f"{run.variant.id}-{run.case}", Call(torch_function(op), args), tensors)


def _value(run: Run, name: str) -> Any:
    arg = next((arg for arg in run.op.args if arg.name == name), None)
    return None if arg is None else value_of(run, arg)


def torch_function(op: Op) -> Callable[..., Any]:
    """torch's function with the arguments of an operator's spec."""
    if op.name in TORCH_FUNCTIONS:
        return TORCH_FUNCTIONS[op.name]
    namespace, name, *overload = op.name.split(".")
    packet = getattr(getattr(torch.ops, namespace), name)
    function = getattr(packet, overload[0] if overload else "default")
    schema = [argument.name for argument in function._schema.arguments]
    keywords = {a.name for a in function._schema.arguments if a.kwarg_only}
    ours = [arg.name for arg in op.args if arg.name not in _FUSED]
    kinds = {argument.name: argument for argument in function._schema.arguments}

    def call(*args: Any) -> Any:
        args = tuple(_as_schema(kinds.get(n), a) for n, a in zip(ours, args, strict=True))
        named = {n: a for n, a in zip(ours, args, strict=True) if n in keywords}
        rest = [a for n, a in zip(ours, args, strict=True) if n not in keywords]
        by_name = {n: a for n, a in zip(ours, args, strict=True) if n in schema and n not in named}
        if all(n in schema for n in ours[1:]) and ours[0] not in schema:
            by_name.pop(ours[0], None)
            return function(args[0], **by_name, **named)
        return function(*rest, **named)

    return call


def _as_schema(argument: Any, value: Any) -> Any:
    """Converts a spec's value for an omitted number, an empty list or 0, to None."""
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
