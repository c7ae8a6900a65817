"""Makes a graph compute in float16, with inputs, outputs and states left as they are."""

from __future__ import annotations

import numpy as np

from spirloom.ir import ArgValue, Array, DType, Graph, Node, Tensor, constant
from spirloom.mapped import let_go
from spirloom.ops import OpError, OpLibrary
from spirloom.passes.rewrite import COPY


def to_half(graph: Graph, library: OpLibrary) -> None:
    """Stores float32 tensors as float16; an operator without a float16 kernel stays as it was."""
    _Halver(graph, library).run()


class _Halver:
    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._graph = graph
        self._library = library
        self._half: dict[Tensor, Tensor] = {}  # float32 tensor → its float16 form
        self._ready = {t for t in graph.tensors() if t.data is not None} | set(graph.given())
        self._nodes: list[Node] = []

    def run(self) -> None:
        """Rewrites the nodes in order; results are converted at the end."""
        for node in self._graph.nodes:
            self._convert(node)
        for result in self._graph.results():
            if result not in self._ready:
                self._full(result)
        self._graph.nodes = self._nodes

    def _convert(self, node: Node) -> None:
        args = tuple(self._halved(node, arg) for arg in node.args)
        outputs = tuple(self._half_output(t) for t in node.outputs)
        changed = any(a is not b for a, b in zip(outputs, node.outputs, strict=True)) or any(
            a is not b for a, b in zip(args, node.args, strict=True)
        )
        if changed and not self._computable(node.op, args, outputs):
            self._keep(node)
            return
        for full, half in zip(node.outputs, outputs, strict=True):
            if half is full:
                self._ready.add(full)
            else:
                self._half[full] = half
        source = args[0] if args else None
        same = isinstance(source, Tensor) and source.dtype is outputs[0].dtype
        if node.op == COPY and isinstance(source, Tensor) and same and outputs != node.outputs:
            self._half[node.outputs[0]] = source
            return
        self._nodes.append(Node(node.op, args, outputs, node.name))

    def _keep(self, node: Node) -> None:
        """The node as it was, its inputs brought back to float32."""
        for tensor in node.inputs():
            if tensor not in self._ready:
                self._full(tensor)
        self._ready.update(node.outputs)
        self._nodes.append(node)

    def _halved(self, node: Node, arg: ArgValue) -> ArgValue:
        """An argument in float16."""
        if isinstance(arg, Tensor):
            return self._half_input(arg)
        if isinstance(arg, tuple) and arg and isinstance(arg[0], Tensor):
            return tuple(self._half_input(t) for t in arg if isinstance(t, Tensor))
        if node.op == COPY and arg == "f32":
            return "f16"
        return arg

    def _half_input(self, tensor: Tensor) -> Tensor:
        if tensor.dtype is not DType.F32:
            return tensor
        if tensor not in self._half:
            if tensor.data is not None:
                self._half[tensor] = constant(tensor.name, _rounded(tensor.data))
                let_go(tensor.data)
            else:
                half = Tensor(f"{tensor.name}.f16", DType.F16, tensor.shape)
                self._copy(tensor, half)
                self._half[tensor] = half
        return self._half[tensor]

    def _half_output(self, tensor: Tensor) -> Tensor:
        if tensor.dtype is not DType.F32:
            return tensor
        return Tensor(tensor.name, DType.F16, tensor.shape)

    def _full(self, tensor: Tensor) -> None:
        """Computes a float32 tensor from its float16 form."""
        self._copy(self._half[tensor], tensor)
        self._ready.add(tensor)

    def _copy(self, source: Tensor, target: Tensor) -> None:
        args = self._library.complete(COPY, {"x": source, "dtype": str(target.dtype)})
        self._nodes.append(Node(COPY, args, (target,), f"{target.name}.convert"))

    def _computable(self, op: str, args: tuple[ArgValue, ...], outputs: tuple[Tensor, ...]) -> bool:
        """Whether there is a kernel for the call that gives these outputs."""
        try:
            types = self._library.infer(op, args)
        except OpError:
            return False
        return [dtype for _, dtype in types] == [t.dtype for t in outputs]


def _rounded(values: Array) -> Array:
    """Rounded to float16; finite values beyond its range become its largest."""
    limit = np.finfo(np.float16).max
    with np.errstate(over="ignore"):
        half = values.astype(np.float16, order="C")
    beyond = np.isinf(half)
    if beyond.any():
        beyond &= np.isfinite(values)
        half[beyond] = np.copysign(limit, half[beyond])
    return half
