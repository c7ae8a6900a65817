"""ONNX functions: operators with a definition in an ONNX schema or in the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TypeProto, defs

from spirloom.ir import Tensor
from spirloom.onnx.dtypes import onnx_type
from spirloom.onnx.reader import DEFAULT_DOMAINS
from spirloom.onnx.size_arrays import Known
from spirloom.sizes import SymInt

Attributes = Mapping[str, AttributeProto]


@dataclass(frozen=True, slots=True)
class Body:
    """The nodes of an inlined call, with the value names of the caller's graph.

    An output that the caller does not read has the name "".
    """

    nodes: tuple[NodeProto, ...]
    outputs: tuple[str, ...]
    opset: int


class Functions:
    """The functions that a model can call."""

    def __init__(self, model: ModelProto, opset: int) -> None:
        self._opset = opset
        self._local = {(f.domain, f.name): f for f in model.functions}

    def defines(self, node: NodeProto) -> bool:
        """Whether a node calls a function."""
        if (node.domain, node.op_type) in self._local:
            return True
        schema = self._schema(node)
        return schema is not None and (schema.has_function or schema.has_context_dependent_function)

    def body(self, node: NodeProto, inputs: Sequence[Known | None]) -> Body | None:
        """The inlined body of a call. None if the node does not call a function."""
        own = self.own_body(node)
        if own is not None:
            return own
        schema = self._schema(node)
        function = None if schema is None else _defined(schema, node, inputs)
        if schema is None or function is None:
            return None
        defaults = {name: a.default_value for name, a in schema.attributes.items()}
        stated = {name: value for name, value in defaults.items() if value.type}
        return _body(node, function, {**stated, **_given(node)}, self._opset)

    def own_body(self, node: NodeProto) -> Body | None:
        """The inlined body of a call of a model function. None for other nodes."""
        local = self._local.get((node.domain, node.op_type))
        return None if local is None else _body(node, local, _given(node), self._opset)

    def _schema(self, node: NodeProto) -> defs.OpSchema | None:
        try:
            return defs.get_schema(node.op_type, self._opset, node.domain)
        except defs.SchemaError:
            return None


def _defined(
    schema: defs.OpSchema, node: NodeProto, inputs: Sequence[Known | None]
) -> FunctionProto | None:
    """The definition of an operator, which may depend on the types of its inputs."""
    if schema.has_function:
        return schema.function_body
    if not schema.has_context_dependent_function:
        return None
    types = [_type(value).SerializeToString() for value in inputs]
    function = FunctionProto()
    function.ParseFromString(schema.get_context_dependent_function(node.SerializeToString(), types))
    return function if function.node else None


def _type(value: Known | None) -> TypeProto:
    made = TypeProto()
    if value is not None:
        dtype = value.dtype.numpy if isinstance(value, Tensor) else value.dtype
        made.tensor_type.elem_type = onnx_type(dtype)
        for size in value.shape:
            dim = made.tensor_type.shape.dim.add()
            if not isinstance(size, SymInt):
                dim.dim_value = size
    return made


def _given(node: NodeProto) -> Attributes:
    return {a.name: a for a in node.attribute}


def _body(node: NodeProto, function: FunctionProto, attributes: Attributes, opset: int) -> Body:
    """The function's nodes with the call's value names. Internal names get a prefix."""
    prefix = f"{next(filter(None, node.output), node.name)}/"
    outputs = list(zip(function.output, node.output, strict=False))
    names = {formal: actual for formal, actual in outputs if actual}
    names |= dict(zip_longest(function.input, node.input[: len(function.input)], fillvalue=""))

    def rename(name: str) -> str:
        return names.get(name, prefix + name) if name else ""

    nodes = tuple(_renamed(n, rename, attributes) for n in function.node)
    for made in nodes:
        made.name = f"{node.name or node.op_type}/{made.name or made.op_type}"
    versions = [o.version for o in function.opset_import if o.domain in DEFAULT_DOMAINS]
    given = tuple(rename(formal) if actual else "" for formal, actual in outputs)
    return Body(nodes, given, max(versions, default=opset))


def _renamed(node: NodeProto, rename: Callable[[str], str], attributes: Attributes) -> NodeProto:
    """A renamed node, with referenced attributes replaced by those of the call."""
    made = NodeProto()
    made.CopyFrom(node)
    made.input[:] = map(rename, node.input)
    made.output[:] = map(rename, node.output)
    del made.attribute[:]
    for attribute in node.attribute:
        source = attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if source is not None:
            copy = made.attribute.add()
            copy.CopyFrom(source)
            copy.name = attribute.name
            if copy.type == AttributeProto.GRAPH:
                _rename_graph(copy.g, rename, attributes)
    return made


def _rename_graph(graph: GraphProto, rename: Callable[[str], str], attributes: Attributes) -> None:
    for named in (*graph.input, *graph.output, *graph.initializer):
        named.name = rename(named.name)
    nodes = [_renamed(node, rename, attributes) for node in graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def own_copy(graph: GraphProto, prefix: str) -> GraphProto:
    """A subgraph with a prefix for names defined in it. Names of outer graphs are kept."""
    own = {named.name for named in (*graph.input, *graph.initializer)}
    own |= {name for node in graph.node for name in node.output if name}
    copy = GraphProto()
    copy.CopyFrom(graph)
    _rename_graph(copy, lambda name: prefix + name if name in own else name, {})
    return copy


def used_names(nodes: Iterable[NodeProto]) -> set[str]:
    """The names that nodes and their subgraphs read, and the outputs of the subgraphs."""
    found: set[str] = set()
    for node in nodes:
        found.update(filter(None, node.input))
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                found |= used_names(attribute.g.node)
                found |= {info.name for info in attribute.g.output}
    return found
