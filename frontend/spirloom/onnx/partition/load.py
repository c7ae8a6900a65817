"""spirloom.onnx.load: runs an ONNX model, with unsupported nodes on the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from onnx import ModelProto

from spec_model.interval import Interval
from spirloom import graph_file
from spirloom.errors import ImportFailure
from spirloom.ir import Array, Graph
from spirloom.onnx.dtypes import array_of
from spirloom.onnx.importer import read
from spirloom.onnx.inputs import Shapes, own_inputs
from spirloom.onnx.partition.model import (
    DeviceSegment,
    ExecutableSegment,
    Host,
    HostSegment,
    PartitionedModel,
    ValueInfo,
    host_of,
)
from spirloom.onnx.partition.partitioner import (
    Options,
    Partitioned,
    partition_model,
    with_embedded_data,
)
from spirloom.op_library import OpLibrary
from spirloom.partition import Costs, Placement, Segment
from spirloom.passes.fp16 import float32_patterns
from spirloom.runtime import Model, Runtime, default_runtime

if TYPE_CHECKING:
    from spirloom.runtime.runtime import StorageName


def load(
    path: str | Path,
    runtime: Runtime | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    fixed: Mapping[str, Array] | None = None,
    fp16: bool = False,
    keep_float32: Sequence[str] = (),
    float64_as_float32: bool = False,
    ignore_stated_shapes: bool = False,
    assume_int32: bool = False,
    storage: StorageName = "auto",
    spec_dirs: Sequence[str | Path] = (),
    stay: Sequence[str] = (),
    costs: Costs | None = None,
    host: str | Host | None = None,
) -> PartitionedModel:
    """Loads an ONNX model. The device runs supported nodes, unless transfers cost more than they
    save; the host runs the others.

    dims, shapes, ranges, fixed, fp16, keep_float32, float64_as_float32, spec_dirs
             the options of `spirloom import`; `dims` are fixed sizes: {"batch": 8}. `ranges` also
             accepts outputs of nodes on the host
    ignore_stated_shapes, assume_int32
             further options of `spirloom import`
    storage  the storage of tensors on the device, as for spirloom.load()
    stay     operators ("Softmax") and names of nodes to run on the host
    costs    the cost model of computation and transfers
    host     what runs the other nodes: "onnxruntime", "reference" (the reference implementation of
             the onnx package), or a function: model of a segment → function of arrays by name that
             returns the outputs in order. None: the first of the two that is installed and
             supports the segment

    `report` of the result describes the partition. Raises ImportFailure.
    """
    path = Path(path)
    sizes = {name: tuple(shape) for name, shape in (shapes or {}).items()}
    intervals = {name: Interval(*bounds) for name, bounds in (ranges or {}).items()}
    library = OpLibrary.with_dirs([Path(directory) for directory in spec_dirs])
    _check_sizes(dims or {})
    given = Shapes(dims or {}, sizes, intervals, ignore_stated_shapes, assume_int32=assume_int32)
    model, given = read(path, given, fixed, float64_as_float32)
    options = Options(
        library,
        given,
        fp16,
        float32_patterns(keep_float32, fp16),
        stay=stay,
        costs=costs or Costs(),
    )

    def make(graph: Graph) -> Model:
        device = runtime or default_runtime()
        return device.load(graph_file.to_bytes(graph), storage=storage)

    partitioned = partition_model(path, model, options, make)
    return _assembled(path, partitioned, host_of(host))


def _check_sizes(dims: Mapping[str, object]) -> None:
    for name, size in dims.items():
        if not isinstance(size, int | np.integer):
            raise ImportFailure(
                f"dims[{name!r}] is {size!r}; expected one size: a model is partitioned for fixed "
                f"sizes. `spirloom import --dim {name}=MIN..MAX` writes a graph file with a "
                "dynamic size, for spirloom.load()."
            )


def _assembled(path: Path, partitioned: Partitioned[Model], host: Host) -> PartitionedModel:
    graph = partitioned.model.graph
    types = partitioned.support.types
    inputs = own_inputs(graph)
    stated = {info.name: info.type for info in (*inputs, *graph.output)}
    stated |= types
    return PartitionedModel(
        [ValueInfo.of(info.name, stated[info.name]) for info in inputs],
        [ValueInfo.of(info.name, stated[info.name]) for info in graph.output],
        [_executable(path, partitioned, segment, host) for segment in partitioned.plan.segments],
        _constant_outputs(partitioned.model, partitioned.support.constants),
        partitioned.report,
    )


def _executable(
    path: Path, partitioned: Partitioned[Model], segment: Segment, host: Host
) -> ExecutableSegment:
    outputs = [ValueInfo.of(name, partitioned.support.types.get(name)) for name in segment.outputs]
    if segment.placement is Placement.DEVICE:
        return DeviceSegment(segment.inputs, outputs, partitioned.built[segment])
    model = with_embedded_data(partitioned.model_of(segment), str(path))
    operators = ", ".join(dict.fromkeys(node.op_type for node in model.graph.node))
    return HostSegment(segment.inputs, outputs, host(model), f"The host segment ({operators})")


def _constant_outputs(model: ModelProto, constants: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs that are constants."""
    names = {info.name for info in model.graph.output}
    found = {
        tensor.name: array_of(tensor, f"the initializer '{tensor.name}'")
        for tensor in model.graph.initializer
        if tensor.name in names
    }
    return found | {name: value for name, value in constants.items() if name in names}
