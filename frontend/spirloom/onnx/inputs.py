"""Model inputs as tensors: sizes for every dimension, supported element types, and value bounds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

from spec_model import interval
from spec_model.interval import EVERYTHING, Interval
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import MAX_RANK, DType, Tensor
from spirloom.onnx.dtypes import numpy_type, type_name
from spirloom.value_bounds import ValueRange, exact_interval, is_wide, narrow_type

_INT32 = interval.of_type(DType.I32.numpy)

_SMALL_TYPES: dict[int | None, np.dtype[Any]] = {
    t: numpy_type(t)
    for t in (TensorProto.INT32, TensorProto.INT16, TensorProto.INT8, TensorProto.UINT8)
}

# (operator, input index) of indices and lengths, whose values fit 32 bits.
_INDEX_INPUTS = {
    ("Attention", 6),
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
    ("SoftmaxCrossEntropyLoss", 1),
    ("TensorScatter", 2),
}
# Those whose indices apply to one axis of input 0.
_ALONG_AXIS = ("Gather", "GatherElements", "Scatter", "ScatterElements")
# (domain, operator, input index) of row indices → the input that they index, without negatives.
_INDEXED_ROWS = {
    ("", "RotaryEmbedding", 3): 1,
    ("com.microsoft", "RotaryEmbedding", 1): 2,
}
# Operators whose output has exactly the values of input 0.
_VALUE_PRESERVING = (
    "Expand",
    "Flatten",
    "Identity",
    "Reshape",
    "Squeeze",
    "Tile",
    "Transpose",
    "Unsqueeze",
)
# Operators that read only the shape, so the dtype does not matter.
_SHAPE_ONLY = ("Shape", "Size")


def input_range(
    info: ValueInfoProto, graph: GraphProto, stated: Interval | None, assume_int32: bool = False
) -> ValueRange:
    """The range of an input. `stated` are the bounds of --range. Raises ImportFailure."""
    if not info.type.HasField("tensor_type"):
        raise ImportFailure(f"Input '{info.name}' is not a tensor; only tensors are supported.")
    onnx_type = info.type.tensor_type.elem_type
    what = f"Input '{info.name}' has element type {type_name(onnx_type)}"
    try:
        dtype = numpy_type(onnx_type)
    except Unsupported as error:
        raise ImportFailure(f"{what}, which is not supported.") from error
    if dtype.kind not in "biuf":
        raise ImportFailure(f"{what}, which is not supported.")
    if is_wide(dtype) and all(n.op_type in _SHAPE_ONLY for n, _ in _uses(info.name, graph)):
        return ValueRange(dtype, interval.of_type(narrow_type(dtype).numpy))
    if is_wide(dtype) and dtype.kind == "f":
        if _only_rounded(info.name, graph):
            return ValueRange(dtype, EVERYTHING)
        raise ImportFailure(
            f"{what}, which is not supported and cannot be narrowed exactly. "
            "Accept rounding to float32 with --float64-as-float32 (float64_as_float32=True in "
            "Python), or export it in float32."
        )
    own = interval.of_type(dtype)
    limits = exact_interval(dtype) if is_wide(dtype) else own
    if stated is not None:
        if dtype.kind not in "iuf" or dtype == np.float16:
            raise ImportFailure(f"{what}; --range is for integers and float32.")
        if not stated.within(limits):
            raise ImportFailure(f"{what}; --range must be within {limits}, not {stated}.")
        return ValueRange(dtype, replace(stated, integral=dtype.kind != "f"))
    if own.within(limits):
        return ValueRange(dtype, own)
    found = list(_uses_as_index(info.name, graph))
    if not found and assume_int32:
        return ValueRange(dtype, limits)
    if not found:
        raise ImportFailure(
            f"{what}, which is not supported and cannot be narrowed exactly: its uses imply no "
            f"bounds. Set them with --range {info.name}=LOW..HIGH, or export an int32 input. "
            f"--assume-int32 accepts all of int32, and --constant-input {info.name}=VALUE makes it "
            f"a constant.{_size_remedy(info)} In Python: ranges=, assume_int32=True, fixed=."
        )
    return ValueRange(dtype, Interval(max(i.low for i in found), min(i.high for i in found)))


def _size_remedy(info: ValueInfoProto) -> str:
    name = info.name
    return f" --dim {name}=MIN..MAX makes it an integer input that sizes may depend on." * is_int(
        info
    )


def _only_rounded(name: str, graph: GraphProto) -> bool:
    """Whether all uses of a float64 value are casts to float32."""
    uses = [node for node, _ in _uses(name, graph)]
    return bool(uses) and all(_cast_target(node) == TensorProto.FLOAT for node in uses)


def _uses_as_index(name: str, graph: GraphProto) -> Iterator[Interval]:
    """The bounds implied by uses as an index and by casts to 32 bits or less."""
    names = [name]  # values equal to the input. Extended during iteration
    for same in names:
        for node, index in _uses(same, graph):
            target = _cast_target(node)
            rows = _INDEXED_ROWS.get((node.domain, node.op_type, index))
            if rows is not None and rows < len(node.input):
                yield interval.indices_of(
                    *_constant_shape(node.input[rows], graph)[:1] or [1 << 31]
                )
            elif (node.op_type, index) in _INDEX_INPUTS:
                yield _index_bounds(node, graph)
            elif target in _SMALL_TYPES:
                yield interval.of_type(_SMALL_TYPES[target])
            elif (node.op_type in _VALUE_PRESERVING and index == 0) or target == TensorProto.INT64:
                names += [output for output in node.output[:1] if output not in names]


def _uses(name: str, graph: GraphProto) -> Iterator[tuple[NodeProto, int]]:
    for node in graph.node:
        for index, used in enumerate(node.input):
            if used == name:
                yield node, index


def _cast_target(node: NodeProto) -> int | None:
    """The target type of a Cast. None for other nodes."""
    found = [int(a.i) for a in node.attribute if a.name == "to" and node.op_type == "Cast"]
    return found[0] if found else None


def _index_bounds(node: NodeProto, graph: GraphProto) -> Interval:
    """The bounds of an index along an axis. Negative indices count from the end."""
    shape = _constant_shape(node.input[0], graph)
    axis = next((int(a.i) for a in node.attribute if a.name == "axis"), 0)
    if node.op_type not in _ALONG_AXIS or not -len(shape) <= axis < len(shape):
        return _INT32
    return Interval(-shape[axis], max(shape[axis] - 1, 0))


def _constant_shape(name: str, graph: GraphProto) -> list[int]:
    """The shape of an initializer. Empty for other values."""
    return next((list(t.dims) for t in graph.initializer if t.name == name), [])


@dataclass(frozen=True, slots=True)
class Shapes:
    """Options for inputs: sizes of named dimensions, complete shapes, bounds.

    `ignore_stated`: shapes of other values that the model states are not compared. `ties`: for a
    dimension, a factor and the dimension that it is this multiple of. `assume_int32`: the values of
    wider integers fit in int32. `bases`: sizes of which dimensions are multiples.
    """

    dims: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    ranges: Mapping[str, Interval] = field(default_factory=dict)
    ignore_stated: bool = False
    ties: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    assume_int32: bool = False
    bases: Collection[str] = ()

    def with_dims(self, sizes: Mapping[str, int]) -> Shapes:
        """These options with the sizes of further dimensions, and of those that are multiples."""
        dims = {**self.dims, **sizes}
        for name, (factor, other) in self.ties.items():
            if other not in dims:
                multiple = other if factor == 1 else f"{factor}*{other}"
                raise ImportFailure(
                    f"--dim {name}={multiple}: '{other}' has no size. Set it with "
                    f"--dim {other}=N or --dim {other}=MIN..MAX."
                )
            dims[name] = factor * dims[other]
        bases = [other for _, other in self.ties.values()]
        return replace(self, dims=dims, ties={}, bases=bases)


def read_inputs(
    graph: GraphProto, path: Path, shapes: Shapes, refused: dict[str, str] | None = None
) -> list[tuple[Tensor, ValueRange]]:
    """The inputs that are not initializers. Raises ImportFailure with the option that helps.

    With `refused`, inputs of unsupported types are added to it with the reason instead.
    """
    ints = int_inputs(graph, shapes)
    infos = [info for info in own_inputs(graph) if info.name not in ints]
    for option, names in (("--shape", shapes.inputs), ("--range", shapes.ranges)):
        unknown = set(names) - {info.name for info in infos}
        if unknown:
            raise ImportFailure(
                f"{option} names no input: {', '.join(sorted(unknown))}. "
                f"The inputs are: {', '.join(info.name for info in infos)}."
            )
    _check_dims(infos, path, shapes, ints)
    found = []
    for info in infos:
        try:
            found.append(_read_input(info, graph, shapes))
        except ImportFailure as error:
            if refused is None or info.name in shapes.ranges:
                raise
            refused[info.name] = str(error).removesuffix(".")
    return found


def int_inputs(graph: GraphProto, shapes: Shapes) -> dict[str, int]:
    """The integer inputs: inputs of one integer to which --dim gives a value or bounds. Each with
    the number of tensor inputs before it.
    """
    found: dict[str, int] = {}
    for index, info in enumerate(own_inputs(graph)):
        if info.name in shapes.dims and is_int(info):
            found[info.name] = index - len(found)
    return found


def is_int(info: ValueInfoProto) -> bool:
    """Whether an input can be an integer input."""
    kind = info.type.tensor_type
    return (
        kind.elem_type in (TensorProto.INT64, TensorProto.INT32)
        and kind.HasField("shape")
        and len(kind.shape.dim) <= 1
        and all(dim.dim_value == 1 for dim in kind.shape.dim)
    )


def own_inputs(graph: GraphProto) -> list[ValueInfoProto]:
    """The inputs that are not initializers."""
    initializers = {tensor.name for tensor in graph.initializer}
    return [info for info in graph.input if info.name not in initializers]


def _read_input(
    info: ValueInfoProto, graph: GraphProto, shapes: Shapes
) -> tuple[Tensor, ValueRange]:
    found = input_range(info, graph, shapes.ranges.get(info.name), shapes.assume_int32)
    dtype = narrow_type(found.dtype)
    bounds = None if found.bounds == interval.of_type(dtype.numpy) else found.bounds
    return Tensor(info.name, dtype, _shape(info, shapes), bounds=bounds), found


def _check_dims(
    infos: list[ValueInfoProto], path: Path, shapes: Shapes, ints: Collection[str]
) -> None:
    """Raises ImportFailure with all dimensions without a size, or with all unknown names."""
    named: dict[str, bool] = {}  # dimension → whether an input without --shape has it
    shapeless = []
    for info in infos:
        given = info.name in shapes.inputs
        kind = info.type.tensor_type
        if not kind.HasField("shape") and not given:
            shapeless.append(info.name)
        for dim in kind.shape.dim:
            if dim.dim_param:
                named[dim.dim_param] = named.get(dim.dim_param, False) or not given
    known = {*named, *ints, *shapes.bases}
    unknown = [name for name in shapes.dims if name not in known]
    if unknown:
        raise ImportFailure(
            f"--dim names no dimension of an input: {', '.join(unknown)}. "
            f"The named dimensions are: {', '.join(named) or 'none'}."
        )
    unused = [name for name in shapes.dims if not named.get(name, True)]
    if unused:
        raise ImportFailure(
            f"--dim {unused[0]} has no effect: --shape sets all dimensions of its inputs. Use "
            "--dim for each dimension instead."
        )
    sizes = [name for name, open_ in named.items() if open_ and name not in shapes.dims]
    shapeless = list(dict.fromkeys(shapeless))
    if sizes or shapeless:
        flags = [f"--dim {name}=N" for name in sizes]
        flags += [f"--shape {name}=N,N,…" for name in shapeless]
        raise ImportFailure(
            f"{path} leaves input dimensions open. Set them with {' '.join(flags)}. MIN..MAX "
            "instead of N keeps a dimension dynamic; --dim NAME=OTHER makes two equal, and "
            f"--dim NAME=32*OTHER one a multiple. {_in_python(sizes, shapeless)}."
        )


def _in_python(sizes: list[str], shapeless: list[str]) -> str:
    """The arguments of spirloom.onnx.load() for open dimensions and inputs without a shape."""
    arguments = []
    if sizes:
        arguments.append(f"dims={{{', '.join(f'{name!r}: N' for name in sizes)}}}")
    if shapeless:
        arguments.append(f"shapes={{{', '.join(f'{name!r}: (N, N, …)' for name in shapeless)}}}")
    return f"In spirloom.onnx.load(), which requires fixed sizes: {', '.join(arguments)}"


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
