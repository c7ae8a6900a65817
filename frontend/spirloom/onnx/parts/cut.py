"""Cuts a part out of a model: a model of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, numpy_helper

from spirloom.errors import ImportFailure
from spirloom.onnx.external_data import is_external
from spirloom.onnx.functions import used_names
from spirloom.onnx.messages import messages
from spirloom.onnx.parts.found import Sorted
from spirloom.onnx.terms import Unsupported
from spirloom.onnx.unpack import array_of

# What Protocol Buffers hold in a message.
_GREATEST = (1 << 31) - (1 << 20)


def cut(
    model: ModelProto,
    found: Sorted,
    nodes: Sequence[NodeProto],
    takes: Sequence[str],
    gives: Sequence[str],
) -> ModelProto:
    """The model of some nodes, with the constants that they read."""
    part = ModelProto(ir_version=model.ir_version)
    part.opset_import.extend(model.opset_import)
    part.functions.extend(_called(model.functions, nodes))
    part.graph.name = model.graph.name or "part"
    part.graph.node.extend(nodes)
    for names, infos in ((takes, part.graph.input), (gives, part.graph.output)):
        for name in names:
            info = infos.add(name=name)
            if name in found.types:
                info.type.CopyFrom(found.types[name])
    made = {name for node in nodes for name in node.output}
    wanted = (used_names(nodes) | set(gives)) - made - set(takes)
    initializers = {tensor.name: tensor for tensor in model.graph.initializer}
    for name in sorted(wanted):
        if name in initializers:
            part.graph.initializer.append(initializers[name])
        elif name in found.constants:
            part.graph.initializer.append(numpy_helper.from_array(found.constants[name], name))
    return part


def _called(functions: Sequence[FunctionProto], nodes: Iterable[NodeProto]) -> list[FunctionProto]:
    """The functions that nodes call, and those that these do; ONNX Runtime wants to know them all
    of whatever is in a model."""
    known = {(f.domain, f.name): f for f in functions}
    called: dict[tuple[str, str], FunctionProto] = {}
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        key = (node.domain, node.op_type)
        if key in known and key not in called:
            called[key] = known[key]
            waiting += known[key].node
        for attribute in node.attribute:
            waiting += attribute.g.node
            waiting += (inner for graph in attribute.graphs for inner in graph.node)
    return [f for f in functions if (f.domain, f.name) in called]


def with_own_bytes(part: ModelProto, what: str) -> ModelProto:
    """The same, its constants moved into it from the files where large ones lie. ImportFailure."""
    size = part.ByteSize()
    for tensor in list(messages(part)):
        if is_external(tensor):
            size += _load(tensor, what)
        if size > _GREATEST:
            raise ImportFailure(
                f"{what} has constants of more than 2 GiB, which a model within a process cannot "
                "hold: export the model so that its layers with large weights can be imported."
            )
    return part


def _load(tensor: TensorProto, what: str) -> int:
    try:
        array = array_of(tensor, f"the tensor '{tensor.name}'")
    except Unsupported as error:
        raise ImportFailure(f"{what}: {error}.") from error
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return array.nbytes
