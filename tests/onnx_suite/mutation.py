"""Changes models so that they still are ONNX files, but mean something else or nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto

NUMBERS = (0, 1, -1, 2, 3, -2, 7, 100, 1 << 31, -(1 << 31), 1 << 62)
SIZES = (0, 1, 2, 3, 5, 7)
ELEMENT_TYPES = (1, 2, 3, 6, 7, 9, 10)


def mutate(model: ModelProto, choose: random.Random) -> None:
    """Makes one small change somewhere."""
    nodes = list(_nodes(model.graph))
    node = choose.choice(nodes)
    names = ["", *(name for n in nodes for name in n.input)]
    match choose.randrange(7):
        case 0 if node.attribute:
            _change(choose.choice(node.attribute), choose)
        case 1 if node.attribute:
            del node.attribute[choose.randrange(len(node.attribute))]
        case 2 if node.input:
            node.input[choose.randrange(len(node.input))] = choose.choice(names)
        case 3 if node.input:
            node.input.pop()
        case 4:
            node.input.append(choose.choice(names))
        case 5 if model.graph.input:
            choose.choice(model.graph.input).type.tensor_type.elem_type = choose.choice(
                ELEMENT_TYPES
            )
        case _ if model.graph.input:
            _reshape(model.graph, choose)


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _nodes(attribute.g)


def _change(attribute: AttributeProto, choose: random.Random) -> None:
    match attribute.type:
        case AttributeProto.INT:
            attribute.i = choose.choice(NUMBERS)
        case AttributeProto.FLOAT:
            attribute.f = choose.choice((0.0, -1.0, float("nan"), float("inf"), 1e30))
        case AttributeProto.STRING:
            attribute.s = choose.choice((b"", b"x", b"\xff"))
        case AttributeProto.INTS if attribute.ints:
            attribute.ints[choose.randrange(len(attribute.ints))] = choose.choice(NUMBERS)
        case AttributeProto.INTS:
            attribute.ints.append(choose.choice(NUMBERS))
        case _:
            attribute.type = choose.choice((AttributeProto.INT, AttributeProto.FLOATS))


def _reshape(graph: GraphProto, choose: random.Random) -> None:
    dims = choose.choice(graph.input).type.tensor_type.shape.dim
    match choose.randrange(3):
        case 0 if dims:
            choose.choice(dims).dim_value = choose.choice(SIZES)
        case 1 if dims:
            dims.pop()
        case _:
            dims.add().dim_value = choose.choice(SIZES)
