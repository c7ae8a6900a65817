"""Specializes a graph with symbolic sizes to fixed sizes."""

from __future__ import annotations

from collections.abc import Mapping

from spirloom.errors import ImportFailure
from spirloom.ir import ArgValue, Graph, Node, State, Tensor
from spirloom.number_expr import SymFloat
from spirloom.op_library import OpError, OpLibrary
from spirloom.sizes import at, inferred_size, is_symbolic

Sizes = Mapping[str, int]


def sizes_text(sizes: Sizes) -> str:
    """Example: "batch=8, seq=128"."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


class Impossible(ImportFailure):
    """A call is not valid at some sizes. `reason` names its node and the sizes."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The model cannot vary in size: {reason}.")
        self.reason = reason


def specialize(graph: Graph, sizes: Sizes, library: OpLibrary) -> Graph:
    """The graph at these sizes. Shapes are inferred as in the runtime.

    Raises ImportFailure, which names the node, for an unsupported call or an unexpected shape.
    """
    return _Specializer(graph, sizes, library).run()


class _Specializer:
    def __init__(self, graph: Graph, sizes: Sizes, library: OpLibrary) -> None:
        self._graph = graph
        self._sizes = sizes
        self._library = library
        self._tensors: dict[Tensor, Tensor] = {}

    def run(self) -> Graph:
        inputs = [self._tensor(tensor) for tensor in self._graph.inputs]
        nodes = [self._node(node) for node in self._graph.nodes]
        outputs = [self._tensor(tensor) for tensor in self._graph.outputs]
        states = [
            State(self._tensor(state.tensor), self._tensor(state.update), state.initial)
            for state in self._graph.states
        ]
        for state in states:
            if state.update.shape != state.tensor.shape:
                raise ImportFailure(
                    f"The model cannot vary in size: at {sizes_text(self._sizes)}, state "
                    f"'{state.tensor.name}' becomes {state.update}, not {state.tensor}."
                )
        return Graph(
            inputs,
            outputs,
            nodes,
            self._graph.producer,
            states=states,
            attachments=self._graph.attachments,
        )

    def _tensor(self, tensor: Tensor) -> Tensor:
        if tensor not in self._tensors:
            shape, values = self._ints(tensor.shape), tensor.values
            if tensor.is_constant and is_symbolic(tensor.shape):
                assert tensor.data is not None
                values = tensor.data[tuple(map(slice, shape))]  # a leading part
            self._tensors[tensor] = Tensor(
                tensor.name, tensor.dtype, shape, values, tensor.storage, tensor.bounds
            )
        return self._tensors[tensor]

    def _ints(self, ints: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(at(value, self._sizes) for value in ints)

    def _node(self, node: Node) -> Node:
        args = tuple(self._arg(arg) for arg in node.args)
        try:
            inferred = self._library.infer(node.op, args)
        except OpError as error:
            raise Impossible(self._place(node, str(error))) from error
        for tensor, (shape, dtype) in zip(node.outputs, inferred, strict=True):
            expected = [
                size if inferred_size(own) else at(own, self._sizes)
                for own, size in zip(tensor.shape, shape, strict=True)
            ]
            if list(shape) != expected:
                reason = f"{node.op} returns {list(shape)}, not {expected}"
                raise ImportFailure(f"The model cannot vary in size: {self._place(node, reason)}.")
            self._tensors[tensor] = Tensor(tensor.name, dtype, shape, storage=tensor.storage)
        return Node(node.op, args, tuple(self._tensors[t] for t in node.outputs), node.name)

    def _arg(self, arg: ArgValue) -> ArgValue:
        if isinstance(arg, Tensor):
            return self._tensor(arg)
        if isinstance(arg, SymFloat):
            return arg.expr.at(self._sizes)
        if isinstance(arg, tuple):
            return tuple(self._arg(item) for item in arg)  # type: ignore[return-value]
        return at(arg, self._sizes) if isinstance(arg, int) else arg

    def _place(self, node: Node, reason: str) -> str:
        return f"at {sizes_text(self._sizes)}, node '{node.name}': {reason.removesuffix('.')}"
