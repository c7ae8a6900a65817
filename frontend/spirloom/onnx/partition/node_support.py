"""Finds the nodes of an ONNX model that the device can compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto

from spirloom.builder import DEFAULT_EXTRA
from spirloom.errors import ImportFailure, Unsupported
from spirloom.interval import Interval
from spirloom.ir import Array, DType, Graph, Node, Tensor
from spirloom.onnx.functions import Functions, used_names
from spirloom.onnx.importer import MAX_NODES, Importer
from spirloom.onnx.inputs import Shapes, input_facts, own_inputs, read_inputs
from spirloom.onnx.partition.value_types import (
    dtype_of,
    reason_to_stay,
    sizes_of,
    tensor_type,
    with_sizes,
)
from spirloom.onnx.reader import DEFAULT_DOMAINS, opset_version
from spirloom.onnx.shape_inference import Inference, Types
from spirloom.onnx.values import Held
from spirloom.ops import OpLibrary
from spirloom.value_bounds import ValueRange, is_wide, narrow_type


@dataclass(slots=True)
class Sorted:
    """What an import says of the nodes of a model; they go by `key_of`."""

    stays: dict[str, str] = field(default_factory=dict)  # and why
    constants: dict[str, Array] = field(default_factory=dict)  # values that nodes need not compute
    types: dict[str, TypeProto] = field(default_factory=dict)  # as far as they are known
    bounds: dict[str, Interval] = field(default_factory=dict)  # of integers
    made: dict[str, list[Node]] = field(default_factory=dict)  # what other nodes became,
    graph: Graph = field(default_factory=Graph)  # all of these,
    tensors: dict[str, Tensor] = field(default_factory=dict)  # and what values became


def key_of(node: NodeProto) -> str:
    """What tells a node from all others of its graph."""
    return next(iter(gives_of(node)), node.name)


def gives_of(node: NodeProto) -> list[str]:
    return [name for name in node.output if name]


def reads_of(node: NodeProto) -> list[str]:
    """What a node reads, in its subgraphs too; not what these give themselves."""
    return sorted(used_names([node]))


class Knowledge:
    """Types, constants and bounds; `value_of` and `facts_of` ask the import for what it has."""

    def __init__(
        self,
        model: ModelProto,
        shapes: Shapes,
        graph: Graph,
        value_of: Callable[[str], Held | None],
        facts_of: Callable[[Tensor], ValueRange],
    ) -> None:
        self.found = Sorted(graph=graph)
        self._inference = Inference(model.opset_import, model.functions)
        self._stated = {i.name: i.type for i in (*model.graph.value_info, *model.graph.output)}
        self._shapes = Shapes(dims=shapes.dims)
        self._value_of = value_of
        self._facts_of = facts_of

    def close(self) -> None:
        """Ends what was asked for types."""
        self._inference.close()

    def learn(self, name: str, own: TypeProto | None = None) -> None:
        """Notes what is known of a value that the import has; `own` is its type in the model."""
        value, found = self._value_of(name), self.found
        if isinstance(value, Tensor):
            facts = self._facts_of(value)
            dtype = None if own is None else dtype_of(own)
            if dtype is None or dtype.kind not in "iuf" or narrow_type(dtype) is not value.dtype:
                dtype = facts.dtype
            found.types[name] = tensor_type(dtype, value.shape)
            found.tensors[name] = value
            if dtype.kind in "iu" and is_wide(dtype):
                found.bounds[name] = facts.bounds
        elif value is not None and not isinstance(value, tuple):
            found.types[name] = tensor_type(value.dtype, value.shape)
            found.constants[name] = value

    def learn_results(self, node: NodeProto) -> None:
        """Of a node that was imported. The import has int32 for some int64 results, so that the
        model's own types are asked for."""
        ours = [self._value_of(name) for name in gives_of(node)]
        narrow = any(isinstance(v, Tensor) and v.dtype is DType.I32 for v in ours)
        inferred = self._inferred(node, reads_of(node)) if narrow else {}
        for name in gives_of(node):
            self.learn(name, inferred.get(name) or self._stated.get(name))

    def types_given(self, node: NodeProto) -> Types:
        """What a node that stays gives, as far as that is known."""
        inferred = self._inferred(node, reads_of(node))
        claimed = self._stated if node.domain not in DEFAULT_DOMAINS else {}
        found = {}
        for name in gives_of(node):
            if name in inferred:
                found[name] = inferred[name]
            elif name in claimed:
                found[name] = with_sizes(claimed[name], self._shapes)
        self.found.types.update(found)
        return found

    def _inferred(self, node: NodeProto, reads: Sequence[str]) -> Types:
        for name in reads:
            if name not in self.found.types:
                self.learn(name)
        types = {name: self.found.types[name] for name in reads if name in self.found.types}
        known = {n: self.found.constants[n] for n in reads if n in self.found.constants}
        return self._inference.outputs(node, types, known)


class Sorter(Importer):
    """Imports the nodes of a model one by one; what a node that stays gives is a new input.

    `forced` nodes stay, for the reasons there, unless they are known at import. After
    `sort()`, `entangled` has those that make a sequence, which exists only at import, for a node
    that stays.
    """

    def __init__(
        self,
        path: Path,
        model: ModelProto,
        library: OpLibrary,
        shapes: Shapes,
        forced: Mapping[str, str],
        constants_limit: int = DEFAULT_EXTRA,
    ) -> None:
        self._blocked: dict[str, str] = {}  # values that cannot come to the device, and why
        self._ranges = shapes.ranges
        super().__init__(path, model, library, _of_inputs(shapes, model), constants_limit)
        self._forced = forced
        self._inside = False
        self._known = Knowledge(
            model, shapes, self._graph, self._values.known, self._narrowing.facts_of
        )
        self.found = self._known.found
        self._makers: dict[str, str] = {}
        self.entangled: set[str] = set()
        for info in own_inputs(model.graph):
            if info.name in self._blocked:
                self.found.types[info.name] = with_sizes(info.type, shapes, info.name)

    def sort(self) -> Sorted:
        """What each node does. Raises ImportFailure where no node would help."""
        try:
            if self._model.graph.sparse_initializer:
                raise ImportFailure(f"{self._path} holds sparse initializers, which no part takes.")
            for tensor in self._graph.inputs:
                self._known.learn(tensor.name)
            self._import_nodes(self._model.graph.node)
        finally:
            self._known.close()
        return self.found

    def _read_inputs(self, shapes: Shapes) -> list[tuple[Tensor, ValueRange]]:
        return read_inputs(self._model.graph, self._path, shapes, self._blocked)

    def _import_node(self, node: NodeProto) -> None:
        if self._inside:  # a function or a subgraph: its problems are those of the call
            super()._import_node(node)
            return
        self._makers.update(dict.fromkeys(gives_of(node), key_of(node)))
        reason = self._reason_of_inputs(node)
        first, before = len(self._graph.nodes), len(self.problems)
        if not reason:
            self._inside = True
            super()._import_node(node)
            self._inside = False
            reason = self._reason_of_problems(node, before)
            if not self._is_known(node):
                reason = reason or self._forced.get(key_of(node), "")
        if reason:
            del self._graph.nodes[first:]
            self._leave(node, reason)
        else:
            self.found.made[key_of(node)] = self._graph.nodes[first:]
            self._known.learn_results(node)

    def _reason_of_inputs(self, node: NodeProto) -> str:
        return next((self._blocked[n] for n in reads_of(node) if n in self._blocked), "")

    def _reason_of_problems(self, node: NodeProto, before: int) -> str:
        for culprit, reason in self.problems[before:]:
            return reason if culprit is node else f"{culprit.op_type} within it: {reason}"
        gone = [name for name in gives_of(node) if self._values.known(name) is None]
        return f"what makes '{gone[0]}' within it is not known" if gone else ""

    def _is_known(self, node: NodeProto) -> bool:
        """Whether what a node gives is known at import: then it has nothing to compute."""
        return all(isinstance(self._values.known(name), np.ndarray) for name in gives_of(node))

    def _leave(self, node: NodeProto, reason: str) -> None:
        """Lets a node stay: what it gives comes back as inputs, if the device can take it."""
        self.found.stays[key_of(node)] = reason
        lists = [name for name in reads_of(node) if isinstance(self._values.known(name), tuple)]
        self.entangled |= {self._makers[name] for name in lists if name in self._makers}
        types = self._known.types_given(node)
        for name in gives_of(node):
            self._values[name] = None
            kind = types.get(name)
            self._blocked[name] = reason_to_stay(name, kind) or self._let_in(name, kind)
            if not self._blocked[name]:
                del self._blocked[name]

    def _let_in(self, name: str, kind: TypeProto | None) -> str:
        """Makes a value an input of what follows; else why not."""
        assert kind is not None
        dtype, sizes = dtype_of(kind), sizes_of(kind)
        assert dtype is not None and sizes is not None
        shape = tuple(size for size in sizes if size is not None)
        info = ValueInfoProto(name=name, type=kind)
        try:
            facts = input_facts(info, self._model.graph, self._ranges.get(name))
            tensor = Tensor(name, narrow_type(dtype), shape)
        except (ImportFailure, Unsupported) as error:
            if name in self._ranges:
                raise ImportFailure(str(error)) from error
            if dtype.kind == "f":
                return f"it reads '{name}', which is {dtype}, and Spirloom does not have that"
            return (
                f"it reads '{name}', which is {dtype}, and how it is used sets no bounds: state "
                f"them with --range {name}=LOW..HIGH"
            )
        self._narrowing.declare(tensor, facts)
        self._values[name] = tensor
        self._graph.inputs.append(tensor)
        if dtype.kind in "iu" and is_wide(dtype):
            self.found.bounds[name] = facts.bounds
        return ""


def _of_inputs(shapes: Shapes, model: ModelProto) -> Shapes:
    """Without the bounds of values that only nodes make."""
    made = {name for node in model.graph.node for name in node.output}
    ranges = {name: bounds for name, bounds in shapes.ranges.items() if name not in made}
    return replace(shapes, ranges=ranges)


_SEQUENCE = "it makes a sequence, which only import knows, for a node that stays"


def sort_nodes(
    path: Path,
    model: ModelProto,
    library: OpLibrary,
    shapes: Shapes,
    forced: dict[str, str],
    constants_limit: int = DEFAULT_EXTRA,
) -> Sorted:
    """What each node of a model does; those in `forced`, to which more may be added, stay.

    Calls of the model's own functions that cannot go as a whole are replaced by their bodies.
    """
    functions = Functions(model, opset_version(model))
    while True:
        sorter = Sorter(path, model, library, shapes, forced, constants_limit)
        found = sorter.sort()
        entangled = {key: _SEQUENCE for key in sorted(sorter.entangled) if key not in forced}
        forced.update(entangled)
        if not _opened(model, functions, found) and not entangled:
            return found


def _opened(model: ModelProto, functions: Functions, found: Sorted) -> bool:
    """Whether some call was replaced by the body of its function."""
    opset, nodes, changed = opset_version(model), list[NodeProto](), False
    for node in model.graph.node:
        body = functions.own_body(node) if key_of(node) in found.stays else None
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
    """Whether a body gives its results the names that the call has for them."""
    return list(node.output[: len(outputs)]) == list(outputs)
