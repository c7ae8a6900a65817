"""The catalogue: what people and programs ask about operators, learnt from the specs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from codegen.dynamic import follows_shapes
from codegen.loader import Library
from codegen.op import Op
from codegen.spec import Arg
from codegen.yaml_reader import read_text

# Made with the page of ONNX's test suite (tests/onnx_suite/operators.py).
ONNX_OPERATORS = Path(__file__).resolve().parent.parent / "generated" / "onnx_operators.txt"


class DynamicShapes(StrEnum):
    """What other shapes change in a plan."""

    YES = "yes"  # push constants and dispatch sizes only
    NEW_PLAN = "new plan"  # kernels, the number of dispatches, or specialisation constants too


@dataclass(frozen=True, slots=True)
class OpFacts:
    """One operator. Lists are in the order of the spec."""

    op: str
    short_name: str
    formula: str
    signature: str
    dtypes: tuple[str, ...]
    storages: tuple[str, ...]
    absent_storages: Mapping[str, str]  # storage → why no kernel has it
    dynamic_shapes: DynamicShapes
    onnx: tuple[str, ...]  # the ONNX operators that become this one
    templates: tuple[str, ...]
    variants: int
    spec: str
    lines: int  # of the spec


def catalogue(library: Library) -> list[OpFacts]:
    """The facts of every operator, in order of name."""
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
            onnx=onnx.get(op.name, ()),
            templates=tuple(dict.fromkeys(kernel.template for kernel in op.kernels)),
            variants=len(op.variants),
            spec=op.position.file,
            lines=len(read_text(specs[op.position.file]).splitlines()),
        )
        for op in library.ops.values()
    ]


def catalogue_text(library: Library) -> str:
    """The catalogue as JSON: operator name → facts."""
    facts = {facts.op: asdict(facts) for facts in catalogue(library)}
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":")) + "\n"


def _signature(op: Op) -> str:
    args = ", ".join(map(argument_text, op.args))
    return f"({args}) -> {', '.join(output.name for output in op.outputs)}"


def argument_text(arg: Arg) -> str:
    """An argument as a spec has it."""
    word = str(arg.type)
    if arg.dtype is not None or arg.any_dtype:
        word = word.replace("tensor", f"tensor<{arg.dtype or 'any'}>")
    if arg.length is not None:
        word = word.replace("[]", f"[{arg.length}]")
    text = f"{arg.name}: {word}{'?' if arg.optional else ''}"
    if arg.default is None:
        return text
    default = list(arg.default) if isinstance(arg.default, tuple) else arg.default
    return f"{text} = {str(default).lower() if isinstance(default, bool) else default}"


def _values(op: Op, axis: str) -> Iterator[str]:
    """The values of an axis that any kernel has."""
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
    reasons = {str(k): why for kernel in op.kernels for k, why in kernel.no_storage.items()}
    return {storage: why for storage, why in reasons.items() if storage not in present}


def _onnx_names() -> dict[str, tuple[str, ...]]:
    """By operator the ONNX operators that become it, of the lines `Relu: aten.relu`."""
    if not ONNX_OPERATORS.is_file():  # an installed generator does without
        return {}
    names: dict[str, list[str]] = {}
    for line in ONNX_OPERATORS.read_text(encoding="utf-8").splitlines():
        name, _, ops = line.partition(": ")
        if not name.startswith("#"):
            for op in ops.split():
                names.setdefault(op, []).append(name)
    return {op: tuple(sorted(found)) for op, found in names.items()}
