"""Partitions an ONNX model into segments, and imports those that run on the device."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
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
from spirloom.onnx.partition.node_support import NodeSupport, key_of, support_of
from spirloom.onnx.partition.value_types import dtype_of, sizes_of
from spirloom.onnx.registry import converter_name
from spirloom.op_library import OpLibrary
from spirloom.partition import (
    Costs,
    Network,
    Node,
    Placement,
    Plan,
    Report,
    Segment,
    partition,
    report,
    work_of,
)
from spirloom.partition.network import Access, pattern_groups
from spirloom.passes import optimize
from spirloom.passes.fp16 import log_float32

# Metadata of torch.onnx with the nested modules of a node, outermost first, then the node's name.
_SCOPES = "pkg.torch.onnx.name_scopes"


def network_of(model: ModelProto, support: NodeSupport, library: OpLibrary) -> Network:
    """The nodes with reasons and work, and the values that may be transferred."""
    inputs = tuple(info.name for info in own_inputs(model.graph))
    written = {name for node in model.graph.node for name in node.output if name}
    outputs = [info.name for info in model.graph.output]
    nodes = [_node(node, support, library, written | set(inputs)) for node in model.graph.node]
    computed = [n for n in dict.fromkeys(outputs) if n in written and n not in support.constants]
    sizes = {name: size_of(kind) for name, kind in support.types.items()}
    groups = _groups(nodes, computed, support, library) if support.reasons else ()
    return Network(tuple(nodes), inputs, tuple(computed), sizes, groups)


def _groups(
    nodes: Sequence[Node], outputs: Iterable[str], support: NodeSupport, library: OpLibrary
) -> tuple[tuple[int, ...], ...]:
    """The nodes of each fused pattern. Consumes the graph of `support`."""
    calls = [Access(node.reads, node.writes, bool(node.reason)) for node in nodes]
    return pattern_groups(
        calls, outputs, support.graph, support.tensors, lambda graph: optimize(graph, library)
    )


def size_of(kind: TypeProto) -> int:
    """Bytes of a value. Unknown sizes count as 1."""
    dtype = dtype_of(kind)
    sizes = (sizes_of(kind) or ()) if dtype is not None else ()
    return prod(size or 1 for size in sizes) * (1 if dtype is None else dtype.itemsize)


def _node(node: NodeProto, support: NodeSupport, library: OpLibrary, values: set[str]) -> Node:
    key = key_of(node)
    flops, nbytes = work_of(support.nodes.get(key, ()), library)
    outputs = [name for name in node.output if name]
    known = bool(outputs) and all(name in support.constants for name in outputs)
    reads = sorted((used_names([node]) & values) - set(support.constants))
    return Node(
        name=node.name or key,
        op=converter_name(node),
        reads=() if known else tuple(reads),
        writes=tuple(outputs),
        module=_module(node),
        reason=support.reasons.get(key, ""),
        flops=flops,
        nbytes=nbytes,
        known=known,
    )


def _module(node: NodeProto) -> str:
    """The module path of a node, from the metadata of torch.onnx or from the node's name."""
    for entry in getattr(node, "metadata_props", ()):  # since ONNX 1.16
        if entry.key == _SCOPES:
            try:
                scopes = ast.literal_eval(entry.value)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
            if isinstance(scopes, list) and len(scopes) > 1:
                return str(scopes[-2])
    path: str = node.name.rpartition("/")[0]
    return path.strip("/").replace("/", ".")


# The limit of a Protocol Buffers message.
_MAX_MESSAGE_BYTES = (1 << 31) - (1 << 20)


def submodel(
    model: ModelProto,
    support: NodeSupport,
    nodes: Sequence[NodeProto],
    inputs: Sequence[str],
    outputs: Sequence[str],
) -> ModelProto:
    """A model of some nodes, with the constants that they read."""
    part = ModelProto(ir_version=model.ir_version)
    part.opset_import.extend(model.opset_import)
    part.functions.extend(_called(model.functions, nodes))
    part.graph.name = model.graph.name or "part"
    part.graph.node.extend(nodes)
    for names, infos in ((inputs, part.graph.input), (outputs, part.graph.output)):
        for name in names:
            info = infos.add(name=name)
            if name in support.types:
                info.type.CopyFrom(support.types[name])
    written = {name for node in nodes for name in node.output}
    constants = (used_names(nodes) | set(outputs)) - written - set(inputs)
    initializers = {tensor.name: tensor for tensor in model.graph.initializer}
    for name in sorted(constants):
        if name in initializers:
            part.graph.initializer.append(initializers[name])
        elif name in support.constants:
            array = support.constants[name]
            part.graph.initializer.append(numpy_helper.from_array(array, name))
    return part


def _called(functions: Sequence[FunctionProto], nodes: Iterable[NodeProto]) -> list[FunctionProto]:
    """The functions that nodes call, directly or indirectly. ONNX Runtime resolves all functions in
    a model.
    """
    known = {(f.domain, f.name): f for f in functions}
    called: dict[tuple[str, str], FunctionProto] = {}
    pending = list(nodes)
    while pending:
        node = pending.pop()
        key = (node.domain, node.op_type)
        if key in known and key not in called:
            called[key] = known[key]
            pending += known[key].node
        for attribute in node.attribute:
            pending += attribute.g.node
            pending += (inner for graph in attribute.graphs for inner in graph.node)
    return [f for f in functions if (f.domain, f.name) in called]


def with_embedded_data(part: ModelProto, what: str) -> ModelProto:
    """Embeds external data in the model, in place. Raises ImportFailure above 2 GiB."""
    size = part.ByteSize()
    for tensor in list(messages(part)):
        if is_external(tensor):
            size += _load(tensor, what)
        if size > _MAX_MESSAGE_BYTES:
            raise ImportFailure(
                f"The constants of the host segment of {what} exceed 2 GiB, the limit of an ONNX "
                "model in memory. Export the model so that layers with large weights can be "
                "imported."
            )
    return part


def _load(tensor: TensorProto, what: str) -> int:
    try:
        array = array_of(tensor, f"the tensor '{tensor.name}'")
    except Unsupported as error:
        raise ImportFailure(f"{what}: {error}.") from error
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return array.nbytes


Built = TypeVar("Built")


@dataclass(frozen=True, slots=True)
class Options:
    """How a model is imported."""

    library: OpLibrary
    shapes: Shapes = field(default_factory=Shapes)
    fp16: bool = False
    keep_float32: Collection[str] = ()  # names of nodes that fp16 leaves in float32
    constants_limit: int = DEFAULT_EXTRA
    stay: Collection[str] = ()  # operators and names of nodes to run on the host
    costs: Costs = field(default_factory=Costs)


@dataclass(frozen=True, slots=True)
class Partitioned(Generic[Built]):
    """A partitioned model. `built` are the results of `build` for the device segments."""

    model: ModelProto
    support: NodeSupport
    network: Network
    plan: Plan
    built: dict[Segment, Built]

    @property
    def report(self) -> Report:
        """The description for users."""
        return report(self.network, self.plan)

    def model_of(self, segment: Segment) -> ModelProto:
        """The model of a segment."""
        indices = [i for i in segment.nodes if not self.network.nodes[i].known]
        nodes: Sequence[NodeProto] = [self.model.graph.node[i] for i in indices]
        return submodel(self.model, self.support, nodes, segment.inputs, segment.outputs)


def partition_model(
    path: Path, model: ModelProto, options: Options, build: Callable[[Graph], Built]
) -> Partitioned[Built]:
    """Partitions a model, which is modified. `build` converts each device graph for execution.

    Nodes of graphs that `build` does not support run on the host. Raises ImportFailure.
    """
    _check(path, model)
    forced = {
        key_of(node): "it is assigned to the host"
        for node in model.graph.node
        if {node.name, converter_name(node)} & set(options.stay)
    }
    while True:
        support = support_of(
            path, model, options.library, options.shapes, forced, options.constants_limit
        )
        network = network_of(model, support, options.library)
        partitioned: Partitioned[Built] = Partitioned(
            model, support, network, partition(network, options.costs), {}
        )
        before = len(forced)
        for segment in partitioned.plan.segments:
            if segment.placement is Placement.DEVICE:
                forced.update(_build(path, partitioned, segment, options, build))
        if len(forced) == before:
            return partitioned


def _check(path: Path, model: ModelProto) -> None:
    """Raises ImportFailure for names with several producers or none. Segments refer to names."""
    graph = model.graph
    given = {tensor.name for tensor in graph.initializer} | {info.name for info in graph.input}
    for name in (name for node in graph.node for name in node.output if name):
        if name in given:
            raise ImportFailure(f"{path} is not a valid ONNX model: '{name}' has two producers.")
        given.add(name)
    for info in graph.output:
        if info.name not in given:
            raise ImportFailure(f"{path} is not a valid ONNX model: '{info.name}' has no producer.")


def _build(
    path: Path,
    partitioned: Partitioned[Built],
    segment: Segment,
    options: Options,
    build: Callable[[Graph], Built],
) -> dict[str, str]:
    """Builds a segment. Returns the unsupported nodes, if any, with their reasons."""
    part = partitioned.model_of(segment)
    bounds = partitioned.support.bounds
    ranges = {name: bounds[name] for name in segment.inputs if name in bounds}
    shapes = replace(options.shapes, dims={}, inputs={}, ranges=ranges)
    importer = Importer(path, part, options.library, shapes, options.constants_limit)
    keys = [key_of(node) for node in part.graph.node]
    try:
        graph = importer.run()
        optimize(graph, options.library, options.fp16, keep_float32=options.keep_float32)
        log_float32(graph, ())
        partitioned.built[segment] = build(graph)
    except SpirloomError as error:
        if not isinstance(error, ImportFailure) and error.status is not Status.UNSUPPORTED:
            raise
        found = {key_of(n): reason for n, reason in importer.problems if key_of(n) in keys}
        return found or dict.fromkeys(keys, _sentence(error))
    return {}


def _sentence(error: SpirloomError) -> str:
    return str(error).splitlines()[0].removesuffix(".")
