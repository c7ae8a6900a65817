"""A sorted model in the form that the partitioner knows."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from math import prod

from onnx import ModelProto, NodeProto, TypeProto

from spirloom.onnx.functions import used_names
from spirloom.onnx.inputs import own_inputs
from spirloom.onnx.parts.found import Sorted, key_of
from spirloom.onnx.parts.types import dtype_of, sizes_of
from spirloom.onnx.table import converter_name
from spirloom.ops import OpLibrary
from spirloom.partition import Network, Node, work_of
from spirloom.partition.groups import Access, pattern_groups
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
