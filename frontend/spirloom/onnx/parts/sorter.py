"""Sorts the nodes of a model: an import that goes on behind a node that it cannot import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto

from spirloom.bounds.facts import Facts
from spirloom.bounds.wide import is_wide, narrow_type
from spirloom.budget import DEFAULT_EXTRA
from spirloom.errors import ImportFailure
from spirloom.ir import Tensor
from spirloom.onnx.importer import Importer
from spirloom.onnx.input_facts import input_facts
from spirloom.onnx.inputs import Shapes, own_inputs, read_inputs
from spirloom.onnx.parts.found import Sorted, gives_of, key_of, reads_of
from spirloom.onnx.parts.knowledge import Knowledge
from spirloom.onnx.parts.types import dtype_of, reason_to_stay, sizes_of, with_sizes
from spirloom.onnx.terms import Unsupported
from spirloom.ops import OpLibrary


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

    def _read_inputs(self, shapes: Shapes) -> list[tuple[Tensor, Facts]]:
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
