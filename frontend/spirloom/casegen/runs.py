"""Expands a spec's test cases into runs: each case with every variant that supports it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import cast

from spec_model import Arg, Op, SpecError
from spec_model.expr.types import Apply, EvalError, Expr, Kind, TensorType, Value, Variable
from spec_model.spec import CaseValue, Check, TensorCase, TestCase, Variant
from spec_model.vocabulary import DType, Storage


@dataclass(frozen=True, slots=True)
class Run:
    """A call for one variant. `dtypes` are those of the tensor arguments."""

    op: Op
    case: str
    test: TestCase
    variant: Variant
    dtypes: Mapping[str, DType]
    outputs: tuple[TensorType, ...]

    @property
    def id(self) -> str:
        """The name of the run: variant and case."""
        return f"{self.variant.id}/{self.case}"


MAX_NAME_LENGTH = 80


def case_name(op: Op, args: Mapping[str, CaseValue]) -> str:
    """The name of a case: tensor shapes, then non-default values. Example: `2x3x5_3x1_alpha0.5`."""
    parts = []
    for arg in op.args:
        value = args[arg.name]
        if arg.type.is_tensor:
            parts.append(_tensor(arg.name, value))
        elif value != (arg.default if arg.default_of is None else args[arg.default_of]):
            parts.append(_clean(f"{arg.name}{_value(value)}"))
    return "_".join(part for part in parts if part)[:MAX_NAME_LENGTH].rstrip("_") or "default"


class UniqueNames:
    """Makes names unique: x, x_2, x_3."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def add(self, name: str) -> str:
        count = self._seen[name] = self._seen.get(name, 0) + 1
        return name if count == 1 else f"{name}_{count}"


def _tensor(name: str, value: CaseValue) -> str:
    if isinstance(value, TensorCase):
        return _value(value.shape) or "scalar"
    if isinstance(value, tuple):
        return "_".join(_tensor(name, item) for item in value if isinstance(item, TensorCase))
    return f"no_{name}"


def _value(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _clean(text: str) -> str:
    """Replaces the characters with a meaning in GoogleTest filters."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", text.replace("-", "m"))


_ENOUGH_ELEMENTS = 2048  # more elements only take time


def extreme_cases(op: Op, runs: Iterable[Run]) -> Iterator[tuple[str, TestCase]]:
    """Names and calls with extreme values that cover every variant of `runs`."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(_group(run.variant), []).append(run)
    for group in groups.values():
        yield from _cases_of_group(op, group)


def _group(variant: Variant) -> tuple[object, ...]:
    """The key of variants that differ only in storages, and can share inputs."""
    values = (x for x in variant.values.values() if not isinstance(x, Storage))
    return (variant.kernel.name, *values)


def is_extreme(run: Run) -> bool:
    """Whether inputs of the run have extreme values."""
    for value in run.test.args.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, TensorCase) and item.extremes is not None:
                return True
    return False


def _cases_of_group(op: Op, group: list[Run]) -> Iterator[tuple[str, TestCase]]:
    """A small set of cases that covers all variants (greedy). Ties: the largest case."""
    by_case: dict[str, list[Run]] = {}
    for run in group:
        by_case.setdefault(run.case, []).append(run)
    uncovered = {run.variant.id for run in group}
    while uncovered:
        name, best = max(
            by_case.items(),
            key=lambda item: (len(uncovered & {r.variant.id for r in item[1]}), *_rank(item[1][0])),
        )
        uncovered -= {run.variant.id for run in best}
        if _rank(best[0])[1] > 0:
            yield f"{name}_extremes", _extreme(op, best[0])


def _rank(run: Run) -> tuple[bool, int]:
    """Prefers more elements, up to a limit."""
    elements = sum(prod(x.shape) for arg in run.op.args for x in _free(run, arg))
    return (elements <= _ENOUGH_ELEMENTS, elements)


def _free(run: Run, arg: Arg) -> list[TensorCase]:
    """The tensors of an argument whose values may be extreme, with extreme values."""
    value = run.test.args[arg.name]
    if not arg.type.is_tensor or arg.dtype is not None:
        return []
    outputs = {y.name: t.dtype for y, t in zip(run.op.outputs, run.outputs, strict=True)}
    limits = run.op.domain.of(arg.name, run.dtypes[arg.name], outputs)
    if limits is None:
        return []
    items = value if isinstance(value, tuple) else (value,)
    return [
        replace(x, range=None, values=None, extremes=limits)
        for x in items
        if isinstance(x, TensorCase)
    ]


def _extreme(op: Op, run: Run) -> TestCase:
    args: dict[str, CaseValue] = {arg.name: _arg(run, arg) for arg in op.args}
    return replace(
        run.test,
        args=args,
        dtypes=frozenset({run.variant.dtype}),
        kernel=run.variant.kernel.name,
    )


def _arg(run: Run, arg: Arg) -> CaseValue:
    value, free = run.test.args[arg.name], _free(run, arg)
    if not free:
        return value
    return tuple(free) if isinstance(value, tuple) else free[0]


TEXTURE_RANK = 4
TEXTURE_EXTENT = 2048  # supported by all but the smallest devices


def runs_of(op: Op) -> Iterator[Run]:
    """All runs of an op, case by case, then those with extreme values.

    Raises SpecError for a case that violates the spec's checks, or that no variant supports.
    """
    names = UniqueNames()
    found: list[Run] = []
    for test in op.tests:
        name = names.add(case_name(op, test.args))
        runs = _runs(op, name, test)
        if not runs and not (test.shared and _is_of_other_dtypes(op, test)):
            raise SpecError.at(test.position, f"No variant of {op.name} supports this case.")
        found += runs
        yield from runs
    for name, test in extreme_cases(op, found):
        yield from _runs(op, name, test)


def _runs(op: Op, name: str, test: TestCase) -> list[Run]:
    known: _Known = {}
    try:
        runs = [run_of(op, name, test, variant, known) for variant in op.variants]
    except EvalError as error:
        location = "" if error.at is None else f" (The formula is at {error.at}.)"
        message = f"This is not a valid call of {op.name}: {error}{location}"
        raise SpecError.at(test.position, message) from None
    return [run for run in runs if run is not None]


def _is_of_other_dtypes(op: Op, test: TestCase) -> bool:
    return test.dtypes is not None and test.dtypes.isdisjoint(v.dtype for v in op.variants)


# The values of Op.values() by storage, and dtypes of tensors.
_Known = dict[tuple[object, ...], dict[str, Value]]


def run_of(
    op: Op, name: str, test: TestCase, variant: Variant, known: _Known | None = None
) -> Run | None:
    """The case for one variant. None if the variant does not support it. `known` is shared by the
    variants of a case."""
    if test.dtypes is not None and variant.dtype not in test.dtypes:
        return None
    if test.storages is not None and variant.storage not in test.storages:
        return None
    if test.kernel is not None and variant.kernel.name != test.kernel:
        return None
    dtypes = {arg.name: _dtype(op, arg, variant) for arg in op.args if arg.type.is_tensor}
    args = {
        arg.name: _typed(test.args[arg.name], dtypes.get(arg.name), variant.storage)
        for arg in op.args
    }
    known = {} if known is None else known
    key = (variant.storage, *dtypes.values())
    if key not in known:
        known[key] = op.values(args)
    inferred = [cast(TensorType, known[key][output.name]) for output in op.outputs]
    outputs = tuple(_output_types(op, variant, inferred))
    if not op.computes_values(variant, known[key], outputs):
        return None
    tensors = [*_tensors(args), *outputs]
    if not all(_fits(tensor) for tensor in tensors) or _falls_back(tensors, outputs):
        return None
    return Run(op, name, test, variant, dtypes, outputs)


def _dtype(op: Op, arg: Arg, variant: Variant) -> DType:
    if arg.dtype is not None:
        return arg.dtype
    if not arg.any_dtype:
        return variant.dtype
    equal = {arg.name, *_of_equal_dtype(op, arg.name)}
    for axis in variant.kernel.axes:  # the kernel may bind the tensor in another dtype
        if _tensor_of_dtype(axis.of) in equal:
            return DType(str(variant.values[axis.name]))
    bound = (tensor.dtype for tensor in variant.tensors if tensor.name == arg.name)
    return next(bound, variant.dtype)


def _tensor_of_dtype(expression: Expr | None) -> str | None:
    """The tensor whose dtype an expression is: `x.dtype`."""
    if not isinstance(expression, Apply) or expression.kind is not Kind.DTYPE:
        return None
    tensor = expression.operands[0]
    return tensor.name if isinstance(tensor, Variable) else None


def _of_equal_dtype(op: Op, name: str) -> Iterator[str]:
    """The tensors that a check of the form `x.dtype == y.dtype` compares with this one."""
    for step in op.steps:
        condition = step.condition if isinstance(step, Check) else None
        if isinstance(condition, Apply) and condition.operation.code == "eq":
            names = [_tensor_of_dtype(side) for side in condition.operands]
            yield from (each for each in names if each and name in names)


def _typed(value: CaseValue, dtype: DType | None, storage: Storage) -> object:
    """The value for formulas: tensors as their types."""
    if isinstance(value, TensorCase):
        assert dtype is not None
        return TensorType(value.shape, dtype, storage)
    if isinstance(value, tuple):
        return tuple(_typed(cast(CaseValue, item), dtype, storage) for item in value)
    return value


def _output_types(op: Op, variant: Variant, types: list[TensorType]) -> Iterator[TensorType]:
    """The outputs' types with the storages that the variant writes."""
    bound = {tensor.name: tensor.storage for tensor in variant.tensors}
    for output, tensor in zip(op.outputs, types, strict=True):
        storage = bound.get(output.name, variant.storage)
        yield TensorType(tensor.shape, tensor.dtype, storage)


def _tensors(args: Mapping[str, object]) -> Iterator[TensorType]:
    for value in args.values():
        if isinstance(value, TensorType):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, TensorType))


def _fits(tensor: TensorType) -> bool:
    """Whether the storage supports the shape."""
    if tensor.storage is None or not tensor.storage.is_texture:
        return True
    if len(tensor.shape) > TEXTURE_RANK:
        return False
    n, c, h, w = (1,) * (TEXTURE_RANK - len(tensor.shape)) + tensor.shape
    return max(w, h, n * -(-c // 4)) <= TEXTURE_EXTENT


def _falls_back(tensors: Iterable[TensorType], outputs: Iterable[TensorType]) -> bool:
    """Whether the runtime uses a buffer kernel because an empty tensor cannot be a texture.

    If all outputs are empty, nothing is dispatched and any variant is valid.
    """
    empty = any(0 in x.shape for x in tensors if x.storage is not None and x.storage.is_texture)
    return empty and not all(0 in y.shape for y in outputs)
