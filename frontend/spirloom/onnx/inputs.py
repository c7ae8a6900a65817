"""The inputs of a model as tensors: every dimension gets a size, every element type one of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from onnx import GraphProto, TensorProto, ValueInfoProto

from spirloom.errors import ImportFailure
from spirloom.ir import DType, Tensor
from spirloom.onnx.dtypes import dtype_of, type_name

MAX_RANK = 8


@dataclass(frozen=True, slots=True)
class Shapes:
    """What the user says about shapes: sizes of named dimensions, whole shapes of inputs."""

    dims: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


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
    """Whether a value is used as Gather's indices only: these fit 32 bits."""
    uses = [(n.op_type, i) for n in graph.node for i, used in enumerate(n.input) if used == name]
    return bool(uses) and all(use == ("Gather", 1) for use in uses)
