"""The catalog: facts about operators, derived from the specs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from spec_model.expr import operations as ops
from spec_model.expr.types import (
    Apply,
    Comprehension,
    Conditional,
    Expr,
    Kind,
    ListOf,
    Logic,
    Origin,
    Variable,
)
from spec_model.library import Library
from spec_model.op import Op, packed_constants
from spec_model.spec import Kernel, Let
from spec_model.spec.signature import argument_text
from spec_model.yaml_reader import read_text

# Written by tests/onnx_suite/operators.py.
ONNX_OPERATORS = Path(__file__).resolve().parent.parent / "generated" / "onnx_operators.txt"


class DynamicShapes(StrEnum):
    """The effect of other shapes on a plan."""

    YES = "yes"  # push constants and dispatch sizes only
    NEW_PLAN = "new plan"  # also kernels, counts of dispatches or specialization constants


@dataclass(frozen=True, slots=True)
class OpFacts:
    """One operator. Lists are in the order of the spec."""

    op: str
    short_name: str
    formula: str
    signature: str
    dtypes: tuple[str, ...]
    storages: tuple[str, ...]
    absent_storages: Mapping[str, str]  # storage → reason why no kernel supports it
    dynamic_shapes: DynamicShapes
    traits: tuple[str, ...]
    overloads: tuple[str, ...]
    executorch: tuple[str, ...]
    onnx: tuple[str, ...]  # the ONNX operators that import as this one
    templates: tuple[str, ...]
    variants: int
    spec: str
    lines: int  # of the spec


def catalog(library: Library) -> list[OpFacts]:
    """The facts of every operator in order of name."""
    specs = {source.name: source for source in library.specs}
    onnx = _onnx_names()
    return [
        OpFacts(
            op=op.name,
            short_name=op.short_name,
            formula=op.formula,
            signature=_signature(op),
            dtypes=tuple(_values(op, "dtype")),
            storages=tuple(_values(op, "storage")),
            absent_storages=_absent_storages(op),
            dynamic_shapes=DynamicShapes.NEW_PLAN if follows_shapes(op) else DynamicShapes.YES,
            traits=op.trait_texts,
            overloads=op.foreign_names["PyTorch"],
            executorch=op.foreign_names["ExecuTorch"],
            onnx=tuple(sorted({*onnx.get(op.name, ()), *op.foreign_names["ONNX"]})),
            templates=tuple(dict.fromkeys(kernel.template for kernel in op.kernels)),
            variants=len(op.variants),
            spec=op.position.file,
            lines=len(read_text(specs[op.position.file]).splitlines()),
        )
        for op in library.ops.values()
    ]


def catalog_text(library: Library) -> str:
    """The catalog as JSON: operator name → facts."""
    facts = {facts.op: asdict(facts) for facts in catalog(library)}
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":")) + "\n"


def _signature(op: Op) -> str:
    args = ", ".join(map(argument_text, op.args))
    return f"({args}) -> {', '.join(output.name for output in op.outputs)}"


def _values(op: Op, axis: str) -> Iterator[str]:
    """The values of an axis over all kernels."""
    found: Iterable[str] = (
        str(value)
        for kernel in op.kernels
        for declared in kernel.axes
        if declared.name == axis
        for value in declared.values
    )
    yield from dict.fromkeys(found)


def _absent_storages(op: Op) -> dict[str, str]:
    present = set(_values(op, "storage"))
    reasons = {
        str(k): why for kernel in op.kernels for k, why in kernel.unsupported_storage.items()
    }
    return {storage: why for storage, why in reasons.items() if storage not in present}


def _onnx_names() -> dict[str, tuple[str, ...]]:
    """The ONNX operators by operator, from lines such as `Relu: aten.relu`."""
    if not ONNX_OPERATORS.is_file():  # not part of an installed generator
        return {}
    names: dict[str, list[str]] = {}
    for line in ONNX_OPERATORS.read_text(encoding="utf-8").splitlines():
        name, _, ops = line.partition(": ")
        if not name.startswith("#"):
            for op in ops.split():
                names.setdefault(op, []).append(name)
    return {op: tuple(sorted(found)) for op, found in names.items()}


# Properties of tensors that do not depend on sizes.
_SIZELESS = (
    *(ops.ATTRIBUTES[name][1] for name in ("rank", "dtype", "storage")),
    *(form.operation for form in (*ops.FUNCTIONS["len"], *ops.FUNCTIONS["present"])),
)


def follows_shapes(op: Op) -> bool:
    """Whether the plan of a call depends on shapes, apart from push constants and dispatch sizes.

    This is the case if the kernel, the count of dispatches or a specialization constant depends on
    them. Shapes of packed weights are constant. Kernels that no device prefers do not count.
    """
    lets = {step.name: step.value for step in op.steps if isinstance(step, Let)}
    packed = packed_constants(op, op.kernels)
    return any(
        _reads_size(expression, lets, packed)
        for kernel in op.kernels
        if not (kernel.derived or kernel.test_only)
        for expression in _plan_expressions(kernel)
    )


def _plan_expressions(kernel: Kernel) -> Iterator[Expr]:
    for expression in (kernel.when, kernel.repeat, *(axis.of for axis in kernel.axes)):
        if expression is not None:
            yield expression
    yield from (constant.value for constant in kernel.constants)


def _reads_size(expression: Expr, lets: Mapping[str, Expr], constant: set[str]) -> bool:
    if isinstance(expression, Apply) and expression.operation not in _SIZELESS:
        for operand in expression.operands:
            is_tensor = operand.kind in (Kind.TENSOR, Kind.TENSORS)
            if is_tensor and expression.kind is not Kind.TENSOR and operand.names - constant:
                return True
    if isinstance(expression, Variable) and expression.origin is Origin.LET:
        return _reads_size(lets[expression.name], lets, constant)
    return any(_reads_size(part, lets, constant) for part in _parts(expression))


def _parts(expression: Expr) -> Iterator[Expr]:
    match expression:
        case Apply(operands=operands) | ListOf(operands=operands):
            sized = not (isinstance(expression, Apply) and expression.operation in _SIZELESS)
            yield from operands if sized else ()
        case Logic(left=left, right=right):
            yield from (left, right)
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            yield from (condition, then, otherwise)
        case Comprehension(iterable=iterable, element=element, condition=condition):
            yield from (iterable, element)
            if condition is not None:
                yield condition
