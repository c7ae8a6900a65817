"""Parts a model: what goes to the device is imported, and what does not import stays after all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from onnx import ModelProto, NodeProto

from spirloom.budget import DEFAULT_EXTRA
from spirloom.errors import ImportFailure, SpirloomError, Status
from spirloom.ir import Graph
from spirloom.onnx.importer import Importer
from spirloom.onnx.inputs import Shapes
from spirloom.onnx.parts.cut import cut
from spirloom.onnx.parts.found import Sorted, key_of
from spirloom.onnx.parts.network import network_of
from spirloom.onnx.parts.sorting import sort_nodes
from spirloom.onnx.table import converter_name
from spirloom.ops import OpLibrary
from spirloom.partition import Costs, Network, Plan, Report, Segment, Side, partition, report
from spirloom.passes import optimize

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Options:
    """How a model is imported."""

    library: OpLibrary
    shapes: Shapes = field(default_factory=Shapes)
    fp16: bool = False
    constants_limit: int = DEFAULT_EXTRA
    stay: Collection[str] = ()  # operators, and names of nodes, that are not to go
    costs: Costs = field(default_factory=Costs)


@dataclass(frozen=True, slots=True)
class Parted(Generic[Made]):
    """A model in parts; `made` has what was made of each segment that goes to the device."""

    model: ModelProto
    found: Sorted
    network: Network
    plan: Plan
    made: dict[Segment, Made]

    @property
    def report(self) -> Report:
        """What goes where."""
        return report(self.network, self.plan)

    def part(self, segment: Segment) -> ModelProto:
        """The model of a segment."""
        return _cut(self.model, self.found, self.network, segment)


def part_model(
    path: Path, model: ModelProto, options: Options, make: Callable[[Graph], Made]
) -> Parted[Made]:
    """The parts of a model, which is changed; `make` turns each graph into what will run it.

    What `make` refuses as unsupported stays. Raises ImportFailure.
    """
    _check(path, model)
    forced = {
        key_of(node): "it is told to stay"
        for node in model.graph.node
        if {node.name, converter_name(node)} & set(options.stay)
    }
    while True:
        found = sort_nodes(
            path, model, options.library, options.shapes, forced, options.constants_limit
        )
        network = network_of(model, found, options.library)
        parted: Parted[Made] = Parted(model, found, network, partition(network, options.costs), {})
        before = len(forced)
        for segment in parted.plan.segments:
            if segment.side is Side.DEVICE:
                forced.update(_make(path, parted, segment, options, make))
        if len(forced) == before:
            return parted


def _check(path: Path, model: ModelProto) -> None:
    """Refuses names that several make, or none: parts are put in an order by names."""
    graph = model.graph
    given = {tensor.name for tensor in graph.initializer} | {info.name for info in graph.input}
    for name in (name for node in graph.node for name in node.output if name):
        if name in given:
            raise ImportFailure(f"{path} is not a valid ONNX model: '{name}' is made twice.")
        given.add(name)
    for info in graph.output:
        if info.name not in given:
            raise ImportFailure(f"{path} is not a valid ONNX model: nothing makes '{info.name}'.")


def _make(
    path: Path,
    parted: Parted[Made],
    segment: Segment,
    options: Options,
    make: Callable[[Graph], Made],
) -> dict[str, str]:
    """Makes what runs a segment; else the nodes that have to stay, and why."""
    part = parted.part(segment)
    bounds = parted.found.bounds
    shapes = Shapes(ranges={name: bounds[name] for name in segment.takes if name in bounds})
    importer = Importer(path, part, options.library, shapes, options.constants_limit)
    keys = [key_of(node) for node in part.graph.node]
    try:
        graph = importer.run()
        optimize(graph, options.library, fp16=options.fp16)
        parted.made[segment] = make(graph)
    except SpirloomError as error:
        if not isinstance(error, ImportFailure) and error.status is not Status.UNSUPPORTED:
            raise
        own = {key_of(node): why for node, why in importer.problems if key_of(node) in keys}
        return own or dict.fromkeys(keys, _sentence(error))
    return {}


def _sentence(error: SpirloomError) -> str:
    return str(error).splitlines()[0].removesuffix(".")


def _cut(model: ModelProto, found: Sorted, network: Network, segment: Segment) -> ModelProto:
    places = [i for i in segment.nodes if not network.nodes[i].known]
    nodes: Sequence[NodeProto] = [model.graph.node[i] for i in places]
    return cut(model, found, nodes, segment.takes, segment.gives)
