"""Partitions an ONNX model: cuts it into segments and imports those that run on the device."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Generic, TypeVar

from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, TypeProto, numpy_helper

from spirloom.builder import DEFAULT_EXTRA
from spirloom.errors import ImportFailure, SpirloomError, Status, Unsupported
from spirloom.ir import Graph
from spirloom.onnx.dtypes import array_of
from spirloom.onnx.external_data import is_external, messages
from spirloom.onnx.functions import used_names
from spirloom.onnx.importer import Importer
from spirloom.onnx.inputs import Shapes, own_inputs
from spirloom.onnx.partition.node_support import Sorted, key_of, sort_nodes
from spirloom.onnx.partition.value_types import dtype_of, sizes_of
from spirloom.onnx.registry import converter_name
from spirloom.ops import OpLibrary
from spirloom.partition import (
    Costs,
    Network,
    Node,
    Plan,
    Report,
    Segment,
    Side,
    partition,
    report,
    work_of,
)
from spirloom.partition.network import Access, pattern_groups
from spirloom.passes import optimize

# Where torch.onnx writes the modules that a node is in, the innermost before the node's own name.
_SCOPES = "pkg.torch.onnx.name_scopes"


def network_of(model: ModelProto, found: Sorted, library: OpLibrary) -> Network:
    """The nodes with their reasons and work, and the values that can pass between the sides."""
    inputs = tuple(info.name for info in own_inputs(model.graph))
    made = {name for node in model.graph.node for name in node.output if name}
    outputs = [info.name for info in model.graph.output]
    nodes = [_node(node, found, library, made | set(inputs)) for node in model.graph.node]
    computed = [n for n in dict.fromkeys(outputs) if n in made and n not in found.constants]
    sizes = {name: size_of(kind) for name, kind in found.types.items()}
    groups = _groups(nodes, computed, found, library) if found.stays else ()
    return Network(tuple(nodes), inputs, tuple(computed), sizes, groups)


def _groups(
    nodes: Sequence[Node], outputs: Iterable[str], found: Sorted, library: OpLibrary
) -> tuple[tuple[int, ...], ...]:
    """The nodes that belong to one recognised pattern. The graph of what was found is changed."""
    calls = [Access(node.reads, node.writes, bool(node.reason)) for node in nodes]
    return pattern_groups(
        calls, outputs, found.graph, found.tensors, lambda graph: optimize(graph, library)
    )


def size_of(kind: TypeProto) -> int:
    """Bytes of a value; what is not known of its sizes counts as 1."""
    dtype = dtype_of(kind)
    sizes = (sizes_of(kind) or ()) if dtype is not None else ()
    return prod(size or 1 for size in sizes) * (1 if dtype is None else dtype.itemsize)


def _node(node: NodeProto, found: Sorted, library: OpLibrary, values: set[str]) -> Node:
    key = key_of(node)
    flops, nbytes = work_of(found.made.get(key, ()), library)
    outputs = [name for name in node.output if name]
    known = bool(outputs) and all(name in found.constants for name in outputs)
    reads = sorted((used_names([node]) & values) - set(found.constants))
    return Node(
        name=node.name or key,
        op=converter_name(node),
        reads=() if known else tuple(reads),
        writes=tuple(outputs),
        module=_module(node),
        reason=found.stays.get(key, ""),
        flops=flops,
        nbytes=nbytes,
        known=known,
    )


def _module(node: NodeProto) -> str:
    """The path of the module that a node is of, as torch.onnx tells; else from the node's name."""
    for entry in getattr(node, "metadata_props", ()):  # ONNX 1.16 brought it
        if entry.key == _SCOPES:
            try:
                scopes = ast.literal_eval(entry.value)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
            if isinstance(scopes, list) and len(scopes) > 1:
                return str(scopes[-2])
    path: str = node.name.rpartition("/")[0]
    return path.strip("/").replace("/", ".")


# What Protocol Buffers hold in a message.
_MAX = (1 << 31) - (1 << 20)


def cut(
    model: ModelProto,
    found: Sorted,
    nodes: Sequence[NodeProto],
    takes: Sequence[str],
    gives: Sequence[str],
) -> ModelProto:
    """The model of some nodes, with the constants that they read."""
    part = ModelProto(ir_version=model.ir_version)
    part.opset_import.extend(model.opset_import)
    part.functions.extend(_called(model.functions, nodes))
    part.graph.name = model.graph.name or "part"
    part.graph.node.extend(nodes)
    for names, infos in ((takes, part.graph.input), (gives, part.graph.output)):
        for name in names:
            info = infos.add(name=name)
            if name in found.types:
                info.type.CopyFrom(found.types[name])
    made = {name for node in nodes for name in node.output}
    wanted = (used_names(nodes) | set(gives)) - made - set(takes)
    initializers = {tensor.name: tensor for tensor in model.graph.initializer}
    for name in sorted(wanted):
        if name in initializers:
            part.graph.initializer.append(initializers[name])
        elif name in found.constants:
            part.graph.initializer.append(numpy_helper.from_array(found.constants[name], name))
    return part


def _called(functions: Sequence[FunctionProto], nodes: Iterable[NodeProto]) -> list[FunctionProto]:
    """The functions that nodes call, and those that these do; ONNX Runtime wants to know them all
    of whatever is in a model."""
    known = {(f.domain, f.name): f for f in functions}
    called: dict[tuple[str, str], FunctionProto] = {}
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        key = (node.domain, node.op_type)
        if key in known and key not in called:
            called[key] = known[key]
            waiting += known[key].node
        for attribute in node.attribute:
            waiting += attribute.g.node
            waiting += (inner for graph in attribute.graphs for inner in graph.node)
    return [f for f in functions if (f.domain, f.name) in called]


def with_own_bytes(part: ModelProto, what: str) -> ModelProto:
    """The same, its constants moved into it from the files where large ones lie. ImportFailure."""
    size = part.ByteSize()
    for tensor in list(messages(part)):
        if is_external(tensor):
            size += _load(tensor, what)
        if size > _MAX:
            raise ImportFailure(
                f"{what} has constants of more than 2 GiB, which a model within a process cannot "
                "hold: export the model so that its layers with large weights can be imported."
            )
    return part


def _load(tensor: TensorProto, what: str) -> int:
    try:
        array = array_of(tensor, f"the tensor '{tensor.name}'")
    except Unsupported as error:
        raise ImportFailure(f"{what}: {error}.") from error
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return array.nbytes


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
class Partitioned(Generic[Made]):
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
) -> Partitioned[Made]:
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
        parted: Partitioned[Made] = Partitioned(
            model, found, network, partition(network, options.costs), {}
        )
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
    parted: Partitioned[Made],
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
