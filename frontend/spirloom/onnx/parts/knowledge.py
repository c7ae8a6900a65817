"""What becomes known of values while the nodes of a model are sorted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx import ModelProto, NodeProto, TypeProto

from spirloom.bounds.facts import Facts
from spirloom.bounds.wide import is_wide, narrow_type
from spirloom.ir import DType, Graph, Tensor
from spirloom.onnx.inputs import Shapes
from spirloom.onnx.parts.found import Sorted, gives_of, reads_of
from spirloom.onnx.parts.infer import Inference, Types
from spirloom.onnx.parts.types import dtype_of, tensor_type, with_sizes
from spirloom.onnx.reader import DEFAULT_DOMAINS
from spirloom.onnx.sequences import Held


class Knowledge:
    """Types, constants and bounds; `value_of` and `facts_of` ask the import for what it has."""

    def __init__(
        self,
        model: ModelProto,
        shapes: Shapes,
        graph: Graph,
        value_of: Callable[[str], Held | None],
        facts_of: Callable[[Tensor], Facts],
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
