"""Finds the nodes of an ONNX model that the device can compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto

from spec_model.interval import Interval
from spirloom.builder import DEFAULT_EXTRA
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Array, DType, Graph, Node, Tensor
from spirloom.onnx.functions import Functions, used_names
from spirloom.onnx.importer import MAX_NODES, Importer
from spirloom.onnx.inputs import Shapes, input_range, own_inputs, read_inputs
from spirloom.onnx.partition.value_types import (
    dtype_of,
    sizes_of,
    tensor_type,
    unsupported_reason,
    with_sizes,
)
from spirloom.onnx.reader import DEFAULT_DOMAINS, opset_version
from spirloom.onnx.shape_inference import NodeInference, Types
from spirloom.onnx.values import ValueOrList
from spirloom.op_library import OpLibrary
from spirloom.value_bounds import ValueRange, is_wide, narrow_type


@dataclass(slots=True)
class NodeSupport:
    """Which nodes of a model the device supports. Nodes have the keys of `key_of`, values their
    names.

    reasons    why unsupported nodes are not supported
    constants  values known at import
    types      known ONNX types
    bounds     of integers
    nodes      the graph nodes of each supported node
    graph      all of these nodes
    tensors    the graph tensors of values
    """

    reasons: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    types: dict[str, TypeProto] = field(default_factory=dict)
    bounds: dict[str, Interval] = field(default_factory=dict)
    nodes: dict[str, list[Node]] = field(default_factory=dict)
    graph: Graph = field(default_factory=Graph)
    tensors: dict[str, Tensor] = field(default_factory=dict)


def key_of(node: NodeProto) -> str:
    """A unique key of a node in its graph."""
    return next(iter(outputs_of(node)), node.name)


def outputs_of(node: NodeProto) -> list[str]:
    """The names of the outputs that are present."""
    return [name for name in node.output if name]


def reads_of(node: NodeProto) -> list[str]:
    """The names that a node and its subgraphs read, sorted."""
    return sorted(used_names([node]))


class TypeCollector:
    """Collects types, constants and bounds of values of an import."""

    def __init__(
        self,
        model: ModelProto,
        shapes: Shapes,
        graph: Graph,
        value_of: Callable[[str], ValueOrList | None],
        range_of: Callable[[Tensor], ValueRange],
    ) -> None:
        self.found = NodeSupport(graph=graph)
        self._inference = NodeInference(model.opset_import, model.functions)
        self._stated = {i.name: i.type for i in (*model.graph.value_info, *model.graph.output)}
        self._shapes = Shapes(dims=shapes.dims)
        self._value_of = value_of
        self._range_of = range_of

    def close(self) -> None:
        """Terminates type inference."""
        self._inference.close()

    def collect(self, name: str, own: TypeProto | None = None) -> None:
        """Records type, bounds and constant of a value. `own` is its type in the model."""
        value, found = self._value_of(name), self.found
        if isinstance(value, Tensor):
            values = self._range_of(value)
            dtype = None if own is None else dtype_of(own)
            if dtype is None or dtype.kind not in "iuf" or narrow_type(dtype) is not value.dtype:
                dtype = values.dtype
            found.types[name] = tensor_type(dtype, value.shape)
            found.tensors[name] = value
            if dtype.kind in "iu" and is_wide(dtype):
                found.bounds[name] = values.bounds
        elif isinstance(value, np.ndarray):
            found.types[name] = tensor_type(value.dtype, value.shape)
            found.constants[name] = value

    def collect_results(self, node: NodeProto) -> None:
        """Records the outputs of a supported node. The model's types are inferred if the import may
        have narrowed int64 to int32.
        """
        ours = [self._value_of(name) for name in outputs_of(node)]
        narrow = any(isinstance(v, Tensor) and v.dtype is DType.I32 for v in ours)
        inferred = self._inferred(node, reads_of(node)) if narrow else {}
        for name in outputs_of(node):
            self.collect(name, inferred.get(name) or self._stated.get(name))

    def inferred_outputs(self, node: NodeProto) -> Types:
        """The output types of an unsupported node, as far as they are known."""
        inferred = self._inferred(node, reads_of(node))
        stated = self._stated if node.domain not in DEFAULT_DOMAINS else {}
        found = {}
        for name in outputs_of(node):
            if name in inferred:
                found[name] = inferred[name]
            elif name in stated:
                found[name] = with_sizes(stated[name], self._shapes)
        self.found.types.update(found)
        return found

    def _inferred(self, node: NodeProto, reads: Sequence[str]) -> Types:
        for name in reads:
            if name not in self.found.types:
                self.collect(name)
        types = {name: self.found.types[name] for name in reads if name in self.found.types}
        known = {n: self.found.constants[n] for n in reads if n in self.found.constants}
        return self._inference.outputs(node, types, known)


class SupportImporter(Importer):
    """Imports the nodes of a model one by one. Outputs of unsupported nodes become inputs.

    `forced` nodes count as unsupported, with the given reasons, unless they are folded. After
    `collect()`, `sequence_producers` are the nodes that produce a sequence, which exists only at
    import, for an unsupported node.
    """

    has_data_sizes = False  # a host reads values with their own sizes

    def __init__(
        self,
        path: Path,
        model: ModelProto,
        library: OpLibrary,
        shapes: Shapes,
        forced: Mapping[str, str],
        constants_limit: int = DEFAULT_EXTRA,
    ) -> None:
        self._blocked: dict[str, str] = {}  # values that the device cannot read → why
        self._ranges, self._assume_int32 = shapes.ranges, shapes.assume_int32
        super().__init__(path, model, library, _input_shapes(shapes, model), constants_limit)
        self._forced = forced
        self._nested = False
        self._types = TypeCollector(
            model, shapes, self._graph, self._values.known, self._narrowing.range_of
        )
        self.found = self._types.found
        self._producers: dict[str, str] = {}
        self.sequence_producers: set[str] = set()
        for info in own_inputs(model.graph):
            if info.name in self._blocked:
                self.found.types[info.name] = with_sizes(info.type, shapes, info.name)

    def collect(self) -> NodeSupport:
        """The support of all nodes. Raises ImportFailure for problems that are not of a node."""
        try:
            for tensor in self._graph.inputs:
                self._types.collect(tensor.name)
            self._import_nodes(self._model.graph.node)
        finally:
            self._types.close()
        return self.found

    def _read_inputs(self, shapes: Shapes) -> list[tuple[Tensor, ValueRange]]:
        return read_inputs(self._model.graph, self._path, shapes, self._blocked)

    def _import_node(self, node: NodeProto) -> None:
        if self._nested:  # in a function or subgraph: problems belong to the call
            super()._import_node(node)
            return
        self._producers.update(dict.fromkeys(outputs_of(node), key_of(node)))
        reason = self._reason_of_inputs(node)
        first, before = len(self._graph.nodes), len(self.problems)
        if not reason:
            self._nested = True
            super()._import_node(node)
            self._nested = False
            reason = self._reason_of_problems(node, before)
            if not self._is_known(node):
                reason = reason or self._forced.get(key_of(node), "")
        if reason:
            del self._graph.nodes[first:]
            self._mark_unsupported(node, reason)
        else:
            self.found.nodes[key_of(node)] = self._graph.nodes[first:]
            self._types.collect_results(node)

    def _reason_of_inputs(self, node: NodeProto) -> str:
        return next((self._blocked[n] for n in reads_of(node) if n in self._blocked), "")

    def _reason_of_problems(self, node: NodeProto, before: int) -> str:
        for cause, reason in self.problems[before:]:
            return reason if cause is node else f"its inner node {cause.op_type}: {reason}"
        unknown = [name for name in outputs_of(node) if self._values.known(name) is None]
        return f"its inner value '{unknown[0]}' is unknown" if unknown else ""

    def _is_known(self, node: NodeProto) -> bool:
        """Whether all outputs of a node are constants."""
        return all(isinstance(self._values.known(name), np.ndarray) for name in outputs_of(node))

    def _mark_unsupported(self, node: NodeProto, reason: str) -> None:
        """Marks a node. Its outputs become inputs if the device can read them."""
        self.found.reasons[key_of(node)] = reason
        sequences = [name for name in reads_of(node) if isinstance(self._values.known(name), tuple)]
        self.sequence_producers |= {
            self._producers[name] for name in sequences if name in self._producers
        }
        types = self._types.inferred_outputs(node)
        for name in outputs_of(node):
            self._values[name] = None
            kind = types.get(name)
            self._blocked[name] = unsupported_reason(name, kind) or self._add_input(
                name, kind, node.op_type
            )
            if not self._blocked[name]:
                del self._blocked[name]

    def _add_input(self, name: str, kind: TypeProto | None, producer: str) -> str:
        """Adds a value, of a producer on the host, as an input of the graph. Returns the reason if
        that is not possible.
        """
        assert kind is not None
        dtype, sizes = dtype_of(kind), sizes_of(kind)
        assert dtype is not None and sizes is not None
        shape = tuple(size for size in sizes if size is not None)
        info = ValueInfoProto(name=name, type=kind)
        try:
            values = input_range(
                info, self._model.graph, self._ranges.get(name), self._assume_int32
            )
            tensor = Tensor(name, narrow_type(dtype), shape)
        except (ImportFailure, Unsupported) as error:
            if name in self._ranges:
                raise ImportFailure(str(error)) from error
            if dtype.kind == "f":
                return f"it reads '{name}' of the unsupported dtype {dtype}"
            return (
                f"it reads '{name}' of dtype {dtype} from {producer} on the host, and its uses "
                f"imply no bounds. Set them with --range {name}=LOW..HIGH or --assume-int32 (in "
                "Python ranges= or assume_int32=True)"
            )
        self._narrowing.declare(tensor, values)
        self._values[name] = tensor
        self._graph.inputs.append(tensor)
        if dtype.kind in "iu" and is_wide(dtype):
            self.found.bounds[name] = values.bounds
        return ""


def _input_shapes(shapes: Shapes, model: ModelProto) -> Shapes:
    """The options without bounds of node outputs."""
    made = {name for node in model.graph.node for name in node.output}
    ranges = {name: bounds for name, bounds in shapes.ranges.items() if name not in made}
    return replace(shapes, ranges=ranges)


_SEQUENCE = "it produces a sequence for an unsupported node; sequences exist only at import"


def support_of(
    path: Path,
    model: ModelProto,
    library: OpLibrary,
    shapes: Shapes,
    forced: dict[str, str],
    constants_limit: int = DEFAULT_EXTRA,
) -> NodeSupport:
    """The support of each node of a model. Nodes in `forced`, which is extended, count as
    unsupported.

    Unsupported calls of model functions are inlined in the model.
    """
    functions = Functions(model, opset_version(model))
    while True:
        importer = SupportImporter(path, model, library, shapes, forced, constants_limit)
        found = importer.collect()
        keys = sorted(importer.sequence_producers - set(forced))
        forced.update(dict.fromkeys(keys, _SEQUENCE))
        if not _inlined(model, functions, found) and not keys:
            return found


def _inlined(model: ModelProto, functions: Functions, found: NodeSupport) -> bool:
    """Inlines unsupported calls. Returns whether there was one."""
    opset, nodes, changed = opset_version(model), list[NodeProto](), False
    for node in model.graph.node:
        body = functions.own_body(node) if key_of(node) in found.reasons else None
        fits = body is not None and body.opset == opset and _same_names(node, body.outputs)
        if body is not None and fits and len(nodes) + len(body.nodes) < MAX_NODES:
            nodes += body.nodes
            changed = True
        else:
            nodes.append(node)
    if changed:
        domains = {imported.domain for imported in model.opset_import}
        inner = [imported for f in model.functions for imported in f.opset_import]
        model.opset_import.extend({i.domain: i for i in inner if i.domain not in domains}.values())
        del model.graph.node[:]
        model.graph.node.extend(nodes)
    return changed


def _same_names(node: NodeProto, outputs: tuple[str, ...]) -> bool:
    """Whether the outputs of a body have the names of the call's outputs."""
    return list(node.output[: len(outputs)]) == list(outputs)
