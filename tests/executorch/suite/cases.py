"""ExecuTorch's operator suites (op_tests/cases.py), one module per case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from executorch.backends.vulkan.test.op_tests.cases import test_suites

from tests.executorch.suite.data import DTYPES, make_tensor, make_tensors

# Arguments for device and memory format, which the suites omit.
_OMITTED = {"dtype", "layout", "device", "pin_memory", "memory_format"}
# Parts of the names of arguments that are weights in all suites.
_WEIGHTS = ("weight", "bias", "running_mean", "running_var")


@dataclass(frozen=True, slots=True)
class Case:
    """Input case `number` of an operator's suite, in one of its dtypes."""

    op: str
    number: int
    dtype: str  # "at::kFloat"
    suite: Any
    values: tuple[Any, ...]

    @property
    def name(self) -> str:
        return f"{self.op}#{self.number}:{self.dtype.removeprefix('at::k').lower()}"

    @property
    def tolerances(self) -> tuple[float, float]:
        """rtol, atol."""
        if self.dtype == "at::kHalf":
            return 1e-2, 1e-2
        return float(self.suite.rtol), float(self.suite.atol)


class Call(torch.nn.Module):  # type: ignore[misc]
    """A call of an operator: weights are buffers of the module, other tensors inputs."""

    def __init__(self, op: torch._ops.OpOverload) -> None:
        super().__init__()
        self.op = op
        self.plan: list[tuple[str, str, Any]] = []  # argument, kind, value
        self.inputs: list[torch.Tensor] = []

    def add_input(self, argument: str, tensor: torch.Tensor) -> None:
        self.plan.append((argument, "input", len(self.inputs)))
        self.inputs.append(tensor)

    def add_inputs(self, argument: str, tensors: list[torch.Tensor]) -> None:
        first = len(self.inputs)
        self.plan.append((argument, "inputs", (first, first + len(tensors))))
        self.inputs.extend(tensors)

    def add_weight(self, argument: str, tensor: torch.Tensor) -> None:
        self.plan.append((argument, "weight", argument))
        self.register_buffer(argument, tensor)

    def add_value(self, argument: str, value: Any) -> None:
        self.plan.append((argument, "value", value))

    def forward(self, *inputs: torch.Tensor) -> Any:
        named: dict[str, Any] = {}
        for argument, kind, what in self.plan:
            if kind == "input":
                named[argument] = inputs[what]
            elif kind == "inputs":
                named[argument] = list(inputs[what[0] : what[1]])
            else:
                named[argument] = getattr(self, what) if kind == "weight" else what
        positional = [named.pop(a.name) for a in self.op._schema.arguments if not a.kwarg_only]
        return self.op(*positional, **named)


def all_cases() -> dict[str, Case]:
    """The cases by name, in the order of the suites."""
    return {case.name: case for op in test_suites for case in _cases_of(op)}


def _cases_of(op: str) -> Iterator[Case]:
    suites = test_suites[op]
    number = 0
    for suite in suites if isinstance(suites, list) else [suites]:
        for values in suite.input_cases:
            row = tuple(values) if isinstance(values, list | tuple) else (values,)
            for dtype in suite.dtypes:
                yield Case(op, number, dtype, suite, row)
            number += 1


def module_of(case: Case) -> Call:
    """The module with its `inputs`, with a fixed seed."""
    torch.manual_seed(42)
    _, packet, overload = case.op.split(".")
    op = getattr(getattr(torch.ops.aten, packet), overload)
    module = Call(op)
    for position, argument in enumerate(op._schema.arguments):
        is_given = position < len(case.values)
        _add(module, case, argument, case.values[position] if is_given else argument.default_value)
    return module


def _add(module: Call, case: Case, argument: Any, data: Any) -> None:
    name, kind = argument.name, str(argument.real_type)
    dtype = DTYPES[case.dtype]
    if name in _OMITTED:
        module.add_value(name, None)
    elif kind in ("Tensor", "Optional[Tensor]"):
        if data is None:
            module.add_value(name, None)
            return
        tensor = make_tensor(case.suite, name, data, dtype)
        is_weight = name in case.suite.prepacked_args or any(part in name for part in _WEIGHTS)
        (module.add_weight if is_weight else module.add_input)(name, tensor)
    elif kind in ("List[Tensor]", "List[Optional[Tensor]]"):
        module.add_inputs(name, make_tensors(case.suite, name, data, dtype))
    else:
        module.add_value(name, _value(kind, data))


def _value(kind: str, data: Any) -> Any:
    """Converts a value as ExecuTorch's C++ generator does."""
    if "List[" in kind and data is not None:
        items = list(data) if isinstance(data, list | tuple) else [data]
        return [float(item) for item in items] if "float" in kind else items
    if kind == "bool":
        return str(data).lower() == "true"
    if kind == "int":
        return int(data)
    return data
