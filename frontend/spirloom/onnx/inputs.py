"""The inputs of a model as tensors: every dimension gets a size, every element type one of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, numpy_helper

from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType, Tensor
from spirloom.onnx.dtypes import dtype_of, numpy_type, type_name
from spirloom.onnx.table import Unsupported

MAX_RANK = 8

# (operator, place of the input) where an int64 input only counts elements or picks them: such
# numbers fit 32 bits. Nor does its type matter where only its shape is asked for.
_INDEX_INPUTS = {
    ("Gather", 1),
    ("GatherElements", 1),
    ("GatherND", 1),
    ("MaxUnpool", 1),
    ("NegativeLogLikelihoodLoss", 1),
    ("OneHot", 0),
    ("ReverseSequence", 1),
    ("RoiAlign", 2),
    ("Scatter", 1),
    ("ScatterElements", 1),
    ("ScatterND", 1),
    ("Shape", 0),
    ("SoftmaxCrossEntropyLoss", 1),
}


@dataclass(frozen=True, slots=True)
class Shapes:
    """What the user says about shapes: sizes of named dimensions, whole shapes of inputs."""

    dims: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


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


def read_inputs(graph: GraphProto, path: Path, shapes: Shapes) -> list[Tensor]:
    """The inputs that are no initializers. Raises ImportFailure naming the flag that helps."""
    initializers = {tensor.name for tensor in graph.initializer}
    infos = [info for info in graph.input if info.name not in initializers]
    unknown = set(shapes.inputs) - {info.name for info in infos}
    if unknown:
        raise ImportFailure(
            f"--shape names no input: {', '.join(sorted(unknown))}. "
            f"The inputs are: {', '.join(info.name for info in infos)}."
        )
    _check_dims(infos, path, shapes)
    return [Tensor(i.name, _dtype(i, graph), _shape(i, shapes)) for i in infos]


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


def _dtype(info: ValueInfoProto, graph: GraphProto) -> DType:
    if not info.type.HasField("tensor_type"):
        raise ImportFailure(f"Input '{info.name}' is no tensor; only tensors are supported.")
    onnx_type = info.type.tensor_type.elem_type
    dtype = dtype_of(onnx_type)
    if dtype is not None:
        return dtype
    if onnx_type == TensorProto.INT64 and _only_indexes(info.name, graph):
        return DType.I32
    raise ImportFailure(
        f"Input '{info.name}' has element type {type_name(onnx_type)}, which Spirloom does not "
        "have and cannot narrow safely. Export the model with a float32 or int32 input."
    )


def _only_indexes(name: str, graph: GraphProto) -> bool:
    """Whether a value is used for nothing but indices."""
    uses = {(n.op_type, i) for n in graph.node for i, used in enumerate(n.input) if used == name}
    return bool(uses) and uses <= _INDEX_INPUTS
