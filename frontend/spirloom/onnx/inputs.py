"""The inputs of a model as tensors: every dimension gets a size, every element type one of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import GraphProto, ModelProto, ValueInfoProto, numpy_helper

from spirloom import interval
from spirloom.bounds.facts import Facts
from spirloom.bounds.wide import narrow_type
from spirloom.errors import ImportFailure
from spirloom.interval import Interval
from spirloom.ir import MAX_RANK, Array, Tensor
from spirloom.onnx.dtypes import numpy_type
from spirloom.onnx.input_facts import input_facts
from spirloom.onnx.terms import Unsupported


@dataclass(frozen=True, slots=True)
class Shapes:
    """What the user says about inputs: sizes of named dimensions, whole shapes, bounds."""

    dims: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    ranges: Mapping[str, Interval] = field(default_factory=dict)


def fix_inputs(model: ModelProto, fixed: Mapping[str, Array]) -> None:
    """Gives inputs a value that cannot be changed any more. Raises ImportFailure if it cannot."""
    infos = {info.name: info for info in model.graph.input}
    unknown = sorted(set(fixed) - set(infos))
    if unknown:
        raise ImportFailure(
            f"--fix names no input: {', '.join(unknown)}. The inputs are: {', '.join(infos)}."
        )
    kept = [t for t in model.graph.initializer if t.name not in fixed]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    for name, value in fixed.items():
        typed = _of_input(infos[name], value)
        model.graph.initializer.append(numpy_helper.from_array(typed, name))


def _of_input(info: ValueInfoProto, value: Array) -> Array:
    """The value in the input's element type and shape."""
    kind = info.type.tensor_type
    try:
        wanted = numpy_type(kind.elem_type)
    except Unsupported as error:
        raise ImportFailure(f"Input '{info.name}' cannot be fixed: {error}.") from error
    typed = value.astype(wanted)
    if not np.array_equal(typed, value, equal_nan=wanted.kind == "f"):
        raise ImportFailure(
            f"--fix {info.name} has elements that the input's type, {wanted}, cannot hold."
        )
    dims = kind.shape.dim
    fits = len(dims) == value.ndim and all(
        not d.HasField("dim_value") or d.dim_value == n
        for d, n in zip(dims, value.shape, strict=True)
    )
    if kind.HasField("shape") and not fits:
        stated = [d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in dims]
        raise ImportFailure(
            f"--fix {info.name} has the shape {list(value.shape)}; the input has {stated}."
        )
    return typed


def read_inputs(
    graph: GraphProto, path: Path, shapes: Shapes, refused: dict[str, str] | None = None
) -> list[tuple[Tensor, Facts]]:
    """The inputs that are no initializers. Raises ImportFailure naming the flag that helps.

    With `refused`, an input of a type that Spirloom does not take goes there with the reason.
    """
    infos = own_inputs(graph)
    for option, names in (("--shape", shapes.inputs), ("--range", shapes.ranges)):
        unknown = set(names) - {info.name for info in infos}
        if unknown:
            raise ImportFailure(
                f"{option} names no input: {', '.join(sorted(unknown))}. "
                f"The inputs are: {', '.join(info.name for info in infos)}."
            )
    _check_dims(infos, path, shapes)
    found = []
    for info in infos:
        try:
            found.append(_read_input(info, graph, shapes))
        except ImportFailure as error:
            if refused is None or info.name in shapes.ranges:
                raise
            refused[info.name] = str(error).removesuffix(".")
    return found


def own_inputs(graph: GraphProto) -> list[ValueInfoProto]:
    """The inputs that are no initializers."""
    initializers = {tensor.name for tensor in graph.initializer}
    return [info for info in graph.input if info.name not in initializers]


def _read_input(info: ValueInfoProto, graph: GraphProto, shapes: Shapes) -> tuple[Tensor, Facts]:
    facts = input_facts(info, graph, shapes.ranges.get(info.name))
    dtype = narrow_type(facts.dtype)
    bounds = None if facts.bounds == interval.of_type(dtype.numpy) else facts.bounds
    return Tensor(info.name, dtype, _shape(info, shapes), bounds=bounds), facts


def _check_dims(infos: list[ValueInfoProto], path: Path, shapes: Shapes) -> None:
    """Reports every dimension without a size at once, and sizes for dimensions not there."""
    named: dict[str, bool] = {}  # dimension → whether an input without --shape has it
    nameless = []
    for info in infos:
        given = info.name in shapes.inputs
        kind = info.type.tensor_type
        if not kind.HasField("shape") and not given:
            nameless.append(info.name)
        for dim in kind.shape.dim:
            if dim.dim_param:
                named[dim.dim_param] = named.get(dim.dim_param, False) or not given
            elif not dim.HasField("dim_value") and not given:
                nameless.append(info.name)
    unknown = [name for name in shapes.dims if name not in named]
    if unknown:
        raise ImportFailure(
            f"--dim names no dimension of an input: {', '.join(unknown)}. "
            f"There are: {', '.join(named) or 'none'}."
        )
    flags = [
        f"--dim {name}=N" for name, open_ in named.items() if open_ and name not in shapes.dims
    ]
    flags += [f"--shape {name}=N,N,…" for name in dict.fromkeys(nameless)]
    if flags:
        raise ImportFailure(
            f"{path} leaves input dimensions open. Set them with {' '.join(flags)}."
        )


def _shape(info: ValueInfoProto, shapes: Shapes) -> tuple[int, ...]:
    kind = info.type.tensor_type
    shape = tuple(shapes.dims.get(d.dim_param, int(d.dim_value)) for d in kind.shape.dim)
    given = shapes.inputs.get(info.name)
    if given is not None:
        if kind.HasField("shape") and len(given) != len(shape):
            raise ImportFailure(
                f"--shape {info.name} has {len(given)} dimensions; the input has {len(shape)}."
            )
        shape = given
    if any(not 0 <= d < 1 << 31 for d in shape) or len(shape) > MAX_RANK:
        raise ImportFailure(f"Input '{info.name}' has the impossible shape {list(shape)}.")
    return shape
