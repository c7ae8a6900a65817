"""torch.cond: both branches are computed, and the condition selects between their results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from spirloom.torch.in_place import out_of_place
from spirloom.torch.program import (
    Argument,
    ArgValue,
    Branch,
    Call,
    PlainValue,
    Program,
    Ref,
    Result,
    TensorMeta,
    output_names,
)

HIGHER_ORDER = "higher_order."
COND = "higher_order.cond"


def refusal(target: str) -> str:
    """The reason why a higher-order operator cannot be imported, with a remedy."""
    name = target.removeprefix(HIGHER_ORDER)
    if target == COND:
        return (
            "torch.cond is supported if both branches return tensors of the same shapes and "
            "mutate nothing; select with torch.where instead, or run the module with "
            "spirloom.torch.compile, which leaves it to PyTorch"
        )
    return (
        f"PyTorch's control flow '{name}' is not supported; write it without data-dependent "
        "control flow, or run the module with spirloom.torch.compile, which leaves it to PyTorch"
    )


def inline_conditions(program: Program) -> Program:
    """The program with each torch.cond that can be computed replaced by calls. Others stay."""
    inliner = _Inliner(dict(program.metas))
    calls = inliner.inlined(program.calls)
    return replace(program, calls=tuple(calls), metas=inliner.metas)


@dataclass(frozen=True, slots=True)
class _Condition:
    predicate: ArgValue
    branches: tuple[Branch, Branch]
    operands: tuple[PlainValue, ...]


class _Inliner:
    def __init__(self, metas: dict[str, TensorMeta]) -> None:
        self.metas = metas

    def inlined(self, calls: Iterable[Call]) -> list[Call]:
        found: list[Call] = []
        for call in calls:
            condition = _condition_of(call) if call.target == COND else None
            found += [call] if condition is None else self._selected(call, condition)
        return found

    def _selected(self, call: Call, condition: _Condition) -> list[Call]:
        results = [n for r in call.results for n in (r if isinstance(r, tuple) else (r,))]
        if not self._is_supported(results, condition):
            return [call]
        prefix = next(iter(output_names(call)), "cond")
        found: list[Call] = []
        outputs = []
        for side, branch in zip(("true", "false"), condition.branches, strict=True):
            renamed = _Renamed(f"{prefix}.{side}.", branch, condition.operands)
            self.metas |= {renamed.name(n): meta for n, meta in branch.metas.items()
                           if n not in branch.inputs}  # fmt: skip
            found += self.inlined(renamed.calls())
            outputs.append(renamed.outputs())
        for name, *pair in zip(results, *outputs, strict=True):
            if name is not None:
                values = (condition.predicate, *pair)
                args = [
                    Argument(n, value, False)
                    for n, value in zip(("condition", "self", "other"), values, strict=True)
                ]
                found.append(
                    Call("aten.where.self", tuple(args), (name,), call.module, call.trace)
                )  # fmt: skip
        return found

    def _is_supported(self, results: list[str | None], condition: _Condition) -> bool:
        """Whether both branches return tensors of one shape and mutate nothing."""
        for branch in condition.branches:
            if len(branch.outputs) != len(results):
                return False
            if any(out_of_place(call.target)[1] is not None for call in branch.calls):
                return False
        pairs = zip(*(branch.outputs for branch in condition.branches), strict=True)
        return all(self._alike(pair, condition) for pair in pairs)

    def _alike(self, pair: tuple[ArgValue, ...], condition: _Condition) -> bool:
        shapes = []
        for value, branch in zip(pair, condition.branches, strict=True):
            meta = branch.metas.get(value.name) if isinstance(value, Ref) else None
            if meta is None:
                return False
            shapes.append((meta.dtype, meta.shape))
        return shapes[0] == shapes[1]


class _Renamed:
    """A branch with the operands in place of its inputs, and a prefix before all other names."""

    def __init__(self, prefix: str, branch: Branch, operands: tuple[PlainValue, ...]) -> None:
        self._prefix = prefix
        self._branch = branch
        self._operands = dict(zip(branch.inputs, operands, strict=False))

    def name(self, name: str) -> str:
        return f"{self._prefix}{name}"

    def calls(self) -> list[Call]:
        return [
            replace(
                call,
                arguments=tuple(replace(a, value=self._value(a.value)) for a in call.arguments),
                results=tuple(self._result(result) for result in call.results),
            )
            for call in self._branch.calls
        ]

    def outputs(self) -> list[ArgValue]:
        return [self._value(value) for value in self._branch.outputs]

    def _value(self, value: ArgValue) -> ArgValue:
        if isinstance(value, tuple):
            return tuple(self._plain(item) for item in value)
        return self._plain(value)

    def _plain(self, value: PlainValue) -> PlainValue:
        if not isinstance(value, Ref):
            return value
        if value.name in self._operands:
            return self._operands[value.name]
        return Ref(self.name(value.name))

    def _result(self, result: Result) -> Result:
        if isinstance(result, tuple):
            return tuple(self.name(name) for name in result)
        return None if result is None else self.name(result)


def _condition_of(call: Call) -> _Condition | None:
    """The arguments of torch.cond: a predicate, two branches and the operands."""
    match [argument.value for argument in call.arguments]:
        case [predicate, Branch() as true, Branch() as false, tuple() as operands]:
            if len(true.inputs) == len(false.inputs) == len(operands):
                return _Condition(predicate, (true, false), operands)
    return None
