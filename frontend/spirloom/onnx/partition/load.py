"""spirloom.onnx.load: an ONNX model that runs, whatever nodes it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onnx import ModelProto

from spirloom import graph_file
from spirloom.interval import Interval
from spirloom.ir import Array, Graph
from spirloom.onnx.dtypes import array_of
from spirloom.onnx.importer import read
from spirloom.onnx.inputs import Shapes, own_inputs
from spirloom.onnx.partition.model import (
    DevicePart,
    Host,
    HostPart,
    Part,
    PartitionedModel,
    ValueInfo,
    chosen,
)
from spirloom.onnx.partition.partitioner import Options, Partitioned, part_model, with_own_bytes
from spirloom.ops import OpLibrary
from spirloom.partition import Costs, Segment, Side
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
    float64_as_float32: bool = False,
    storage: StorageName = "auto",
    spec_dirs: Sequence[str | Path] = (),
    stay: Sequence[str] = (),
    costs: Costs | None = None,
    host: str | Host | None = None,
) -> PartitionedModel:
    """An ONNX model, of which the device computes what it can and what is worth its transfers.

    dims, shapes, ranges, fixed, fp16, float64_as_float32, spec_dirs
             the options of `spirloom import`; `ranges` also of values that nodes which stay make
    storage  where tensors live on the device, as for spirloom.load()
    stay     operators ("Softmax"), and names of nodes, that are not to go to the device
    costs    of work and transfers, which say what is worth its transfers
    host     what computes the rest: "onnxruntime", "reference" (ONNX's own, in Python), or a
             function that is given the model of a part and gives one from arrays by name to the
             outputs in order; None: the first of the two that is installed and takes the part

    The report of what goes where is `report` of what is returned. Raises ImportFailure.
    """
    path = Path(path)
    sizes = {name: tuple(shape) for name, shape in (shapes or {}).items()}
    intervals = {name: Interval(*bounds) for name, bounds in (ranges or {}).items()}
    library = OpLibrary.with_dirs([Path(folder) for folder in spec_dirs])
    options = Options(
        library, Shapes(dims or {}, sizes, intervals), fp16, stay=stay, costs=costs or Costs()
    )

    def make(graph: Graph) -> Model:
        device = runtime or default_runtime()
        return device.load(graph_file.to_bytes(graph), storage=storage)

    model = read(path, fixed, float64_as_float32)
    parted = part_model(path, model, options, make)
    return _assembled(path, parted, chosen(host))


def _assembled(path: Path, parted: Partitioned[Model], host: Host) -> PartitionedModel:
    graph = parted.model.graph
    types = parted.found.types
    inputs = own_inputs(graph)
    stated = {info.name: info.type for info in (*inputs, *graph.output)}
    stated |= types
    return PartitionedModel(
        [ValueInfo.of(info.name, stated[info.name]) for info in inputs],
        [ValueInfo.of(info.name, stated[info.name]) for info in graph.output],
        [_part(path, parted, segment, host) for segment in parted.plan.segments],
        _constant_outputs(parted.model, parted.found.constants),
        parted.report,
    )


def _part(path: Path, parted: Partitioned[Model], segment: Segment, host: Host) -> Part:
    gives = [ValueInfo.of(name, parted.found.types.get(name)) for name in segment.gives]
    if segment.side is Side.DEVICE:
        return DevicePart(segment.takes, gives, parted.made[segment])
    part = with_own_bytes(parted.part(segment), str(path))
    operators = ", ".join(dict.fromkeys(node.op_type for node in part.graph.node))
    return HostPart(segment.takes, gives, host(part), f"The part that stays ({operators})")


def _constant_outputs(model: ModelProto, constants: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs that are the same in every run."""
    names = {info.name for info in model.graph.output}
    found = {
        tensor.name: array_of(tensor, f"the initializer '{tensor.name}'")
        for tensor in model.graph.initializer
        if tensor.name in names
    }
    return found | {name: value for name, value in constants.items() if name in names}
