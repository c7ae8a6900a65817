"""Explains which kernel a call gets on a device, and why."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from spec_model import EvalError, Library, Op, SpecError, TensorType, load_library
from spec_model.device_properties import DEVICE_PROPERTIES
from spec_model.expr.types import Expr, Value
from spec_model.library import without_test_kernels
from spec_model.load.cases import load_case
from spec_model.spec import Kernel, TestCase
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES
from spec_model.yaml_reader import SourceFile, read_yaml
from spirloom import graph_file
from spirloom.casegen.call_graph import call_graph, run_in, typed_args
from spirloom.casegen.runs import Run
from spirloom.described_devices import find_devices
from spirloom.errors import ImportFailure
from spirloom.ir import DType, Storage
from spirloom.kernel_selection import Choice, Selection, Trial, select

_OPTION = "--shapes"


def explain(name: str, arguments: str, dtype: str | None, storage: str, device: str) -> str:
    """The explanation, as text. Raises ImportFailure for an invalid call or device."""
    op = _find(name)
    run = _run(op, _parse(op, arguments), dtype, storage)
    described = None if device == "this" else find_devices(device)
    graph = call_graph(run)
    for output in graph.outputs:
        output.storage = run.variant.storage
    found = select([graph_file.to_bytes(graph)], described, explain=True)
    parts = []
    for title, each in found.items():
        values = {**run.op.values(typed_args(run)), **_device(each.properties)}
        parts.append("\n".join(_explanation(run, title, each.graphs[0], values)))
    return "\n\n".join(parts)


@cache
def builtin_operators() -> Library:
    """The built-in operators with the kernels that are not only for tests."""
    return without_test_kernels(load_library([BUILTIN_SPECS], [BUILTIN_TEMPLATES]))


def _find(name: str) -> Op:
    ops = builtin_operators().ops
    found = ops.get(name) or next((op for op in ops.values() if op.short_name == name), None)
    if found is None:
        raise ImportFailure(f"Operator '{name}' has no spec. {_hint(name, list(ops.values()))}")
    return found


def _hint(name: str, ops: Sequence[Op]) -> str:
    """The operators whose kernels have the name, or the operator with a similar one."""
    owners = [op.name for op in ops if any(k.name.startswith(name) for k in op.kernels)]
    if owners:
        return f"Kernels of this name belong to {' and '.join(owners[:3])}."
    near = get_close_matches(name, [word for op in ops for word in (op.short_name, op.name)], n=1)
    if near:
        return f"Did you mean '{near[0]}'?"
    return "`spirloom ops` lists all operators."


def _parse(op: Op, arguments: str) -> TestCase:
    text = arguments.strip()
    text = text if text.startswith("{") else f"{{{text}}}"
    with tempfile.TemporaryDirectory(prefix="spirloom-") as scratch:
        path = Path(scratch) / "shapes.yaml"
        path.write_text(f"call: {_with_absent(op, text)}\n", encoding="utf-8")
        try:
            root = read_yaml(SourceFile(path, _OPTION))
            return load_case(root.entries[0].value, op.args, {k.name: k for k in op.kernels})
        except SpecError as error:
            messages = "; ".join(d.message for d in error.diagnostics)
            raise ImportFailure(f"{_OPTION}: {messages}") from None


def _with_absent(op: Op, text: str) -> str:
    """The arguments with `null` for optional tensors that are not given."""
    import yaml

    try:
        given = yaml.safe_load(text)
    except yaml.YAMLError:
        return text  # the reader of specs reports it
    if not isinstance(given, dict):
        return text
    absent = [arg.name for arg in op.args if arg.optional and arg.name not in given]
    joined = ", ".join(f"{name}: null" for name in absent)
    return text[:-1] + (", " if given and joined else "") + joined + "}"


def _run(op: Op, test: TestCase, dtype: str | None, storage: str) -> Run:
    try:
        wanted = None if dtype is None else DType(dtype)
        stored = Storage(storage)
    except ValueError as error:
        raise ImportFailure(f"{error}.") from None
    try:
        run = run_in(op, test, wanted, stored)
    except EvalError as error:
        raise ImportFailure(f"This is not a valid call of {op.name}: {error}") from None
    if run is None:
        raise ImportFailure(
            f"No kernel of {op.name} computes this call in {dtype or 'any dtype'}, {storage}."
        )
    return run


def _explanation(
    run: Run, device: str, selection: Selection, values: Mapping[str, Value]
) -> Iterator[str]:
    yield f"{run.op.name} {run.variant.dtype} on {device}"
    for choice in selection.choices:
        if choice.op != run.op.name:
            continue
        yield f"Kernels considered in storage {choice.storage}, in order:"
        kernels = {kernel.name: kernel for kernel in run.op.kernels}
        for trial in choice.considered:
            yield from _trial(kernels[trial.kernel], trial, values)
        yield from _rest(run.op, choice)
    for dispatch in selection.dispatches:
        x, y, z = dispatch.groups
        size = "x".join(map(str, dispatch.workgroup))
        yield f"Dispatch: {dispatch.variant}, {x * y * z} workgroups of {size}"
    if selection.error:
        yield f"The device cannot compute the call: {selection.error}"


def _trial(kernel: Kernel, trial: Trial, values: Mapping[str, Value]) -> Iterator[str]:
    if trial.result == "taken":
        verdict = "taken" if trial.preferred else "taken: no kernel is preferred"
    elif trial.result == "possible":
        verdict = "possible, not preferred"
    elif trial.result == "when":
        verdict = "cannot compute the call"
    else:
        verdict = f"not possible: {trial.reason}"
    yield f"  {kernel.name}: {verdict}"
    conditions = (("when", kernel.when), ("prefer", kernel.prefer))
    for key, condition in conditions:
        shown = key == "when" if trial.result == "when" else key == "prefer" and not trial.reason
        if condition is not None and shown and key in kernel.texts:
            yield f"    {key}: {kernel.texts[key]}"
            known = ", ".join(_named(condition, values))
            if known:
                yield f"      {known}"


def _named(condition: Expr, values: Mapping[str, Value]) -> Iterator[str]:
    """The names of a condition with their values."""
    for name in sorted(condition.names):
        if name not in values:
            continue
        yield f"{name} = {_shown(values[name])}"


def _shown(value: Value) -> str:
    if isinstance(value, TensorType):
        return str(list(value.shape)) if value.present else "none"
    if isinstance(value, tuple):
        return f"[{', '.join(_shown(item) for item in value)}]"
    return str(value)


def _device(properties: Mapping[str, int]) -> dict[str, Value]:
    """The properties as expressions see them."""
    return {
        name: bool(value) if DEVICE_PROPERTIES[name].is_bool else value
        for name, value in properties.items()
    }


def _rest(op: Op, choice: Choice) -> Iterator[str]:
    if not choice.kernel:
        return
    seen = {trial.kernel for trial in choice.considered}
    rest = [kernel.name for kernel in op.kernels if kernel.name not in seen]
    if rest:
        yield f"  not considered after it: {', '.join(rest)}"
