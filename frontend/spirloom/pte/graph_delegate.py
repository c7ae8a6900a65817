"""Inlines the graph file of a SpirloomBackend delegate into its program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spec_model.flatbuffer import MalformedBuffer
from spec_model.interval import Interval
from spirloom import graph_reader
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import ArgValue as GraphValue
from spirloom.ir import Array, Graph, Node, Tensor
from spirloom.number_expr import SymFloat
from spirloom.op_library import OpError, OpLibrary
from spirloom.pte.kernel_calls import GraphCall, ProgramDraft
from spirloom.symbolic.specialize import specialize
from spirloom.torch.program import Argument, ArgValue, Call, Ref, TensorMeta


def graph_of(payload: memoryview, label: str, library: OpLibrary | None = None) -> Graph:
    """The graph of a delegate; with a library, at the maximum of its symbolic sizes.

    Raises MalformedBuffer, Unsupported.
    """
    try:
        graph, *others = graph_reader.read_methods(payload, label)
        if others:
            raise MalformedBuffer(f"{label} has {len(others) + 1} methods; expected 1")
        if library is None or not graph.symbols:
            return graph
        return specialize(graph, {symbol.name: symbol.max for symbol in graph.symbols}, library)
    except ImportFailure as error:
        raise Unsupported(str(error)) from None


class GraphInliner:
    """Adds the calls of a delegate's graph to a draft; `prefix` is the prefix of their names."""

    def __init__(
        self, payload: memoryview, prefix: str, draft: ProgramDraft, library: OpLibrary
    ) -> None:
        self._graph = graph_of(payload, prefix, library)
        self._prefix = prefix
        self._draft = draft
        self._library = library
        self._names: dict[Tensor, str] = {}

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return len(self._graph.outputs)

    def translate(self, values: Sequence[ArgValue]) -> list[ArgValue]:
        """Adds all calls to the draft; returns references to the results. Raises Unsupported."""
        tensors = [value for value in values if isinstance(value, Ref)]
        if len(tensors) != len(self._graph.inputs):
            raise MalformedBuffer(
                f"{self._prefix} has {len(self._graph.inputs)} inputs; the call passes "
                f"{len(tensors)} tensors"
            )
        for tensor, outer in zip(self._graph.inputs, tensors, strict=True):
            self._add_input(tensor, outer)
        for state in self._graph.states:
            self._add_state(state.tensor, state.initial)
        for node in self._graph.nodes:
            self._add_node(node)
        for state in self._graph.states:
            self._draft.updates[self._names[state.tensor]] = self._ref(state.update)
        return [self._ref(tensor) for tensor in self._graph.outputs]

    def _add_input(self, tensor: Tensor, outer: Ref) -> None:
        """Converts an input to the dtype of the delegate's graph."""
        name = self._define(tensor)
        self._draft.metas[name] = TensorMeta(tensor.dtype.long_name, tensor.shape, ())
        args = [Argument("self", outer, False)]
        self._draft.add(Call, "aten._to_copy", args, [name], f"{self._prefix}/{tensor.name}")
        if tensor.bounds is not None:
            own = self._draft.ranges.get(outer.name, tensor.bounds)
            self._draft.ranges[outer.name] = _overlap(own, tensor.bounds)

    def _add_state(self, tensor: Tensor, initial: Array | None) -> None:
        own = tensor.name
        name = own if own and own not in self._draft.metas else f"{self._prefix}/{own}"
        self._names[tensor] = name
        value = np.zeros(tensor.shape, tensor.dtype.numpy) if initial is None else initial
        self._draft.add_state(name, value, tensor.dtype.long_name)

    def _add_node(self, node: Node) -> None:
        try:
            names = self._library.arg_names(node.op)
        except OpError as error:
            raise Unsupported(f"{error}; pass the directory of its spec with --spec-dir") from None
        if len(names) < len(node.args):
            raise Unsupported(
                f"its node '{node.name}' has {len(node.args)} arguments; {node.op} has {len(names)}"
            )
        pairs = zip(names, node.args, strict=False)
        args = [Argument(name, self._value(value), False) for name, value in pairs]
        results = [self._define(tensor) for tensor in node.outputs]
        self._draft.add(GraphCall, node.op, args, results, f"{self._prefix}/{node.name}")

    def _value(self, value: GraphValue) -> ArgValue:
        if isinstance(value, Tensor):
            return self._ref(value)
        if isinstance(value, tuple):
            return tuple(self._ref(v) if isinstance(v, Tensor) else v for v in value)
        assert not isinstance(value, SymFloat), "the graph has fixed sizes"
        return value

    def _ref(self, tensor: Tensor) -> Ref:
        """A reference to a tensor. Constants become weights of the program."""
        if tensor not in self._names:
            assert tensor.data is not None  # the reader checks the order of nodes
            self._draft.add_weight(self._define(tensor), tensor.data, tensor.dtype.long_name)
        return Ref(self._names[tensor])

    def _define(self, tensor: Tensor) -> str:
        name = self._names[tensor] = f"{self._prefix}/value {len(self._names)}"
        return name


def _overlap(a: Interval, b: Interval) -> Interval:
    return Interval(max(a.low, b.low), min(a.high, b.high))
