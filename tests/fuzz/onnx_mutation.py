"""Mutates ONNX models: the semantics of nodes, fields of messages, or bytes of the file."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf.message import Message
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto
from spirloom.onnx.external_data import messages

NUMBERS = (0, 1, -1, 2, 3, -2, 7, 100, 1 << 31, -(1 << 31), 1 << 62)
SIZES = (0, 1, 2, 3, 5, 7)
ELEMENT_TYPES = (1, 2, 3, 6, 7, 9, 10)


TEXTS = ("", "x", "y", "\n\x1b[2J", "é" * 300, "ai.onnx", "SAME_UPPER", "..", "Loop", "Concat")
FLOATS = (0.0, -1.0, float("nan"), float("inf"), 1e30)


def mutate_bytes(content: bytes, choose: random.Random) -> bytes:
    """Changes one to four bytes or ranges: overwrites, removes, duplicates or copies."""
    data = bytearray(content)
    for _ in range(choose.randint(1, 4)):
        if not data:
            break
        start = choose.randrange(len(data))
        end = min(start + choose.randint(1, 16), len(data))
        match choose.randrange(8):
            case 0:
                del data[start:end]
            case 1:
                data[start:start] = data[start:end]
            case 2:
                target = choose.randrange(len(data))
                data[target:target] = data[start:end]
            case 3:
                data[start] = choose.randrange(256)
            case _:
                data[start] = choose.choice((0, 1, 8, 127, 128, 255))
    return bytes(data)


def mutate_field(model: ModelProto, others: Sequence[Message], choose: random.Random) -> None:
    """Changes a field of a random message; message fields may become copies of `others`."""
    message = choose.choice([m for m in messages(model) if m.DESCRIPTOR.fields])
    set_fields = [field for field, _ in message.ListFields()]
    if set_fields and choose.random() < 0.8:
        field = choose.choice(set_fields)
    else:
        field = choose.choice(message.DESCRIPTOR.fields)
    if choose.random() < 0.15:
        message.ClearField(field.name)
        return
    value = getattr(message, field.name)
    if _is_repeated(value):
        _change_list(value, field, others, choose)
    elif field.type == field.TYPE_MESSAGE:
        _take(value, others, choose)
    else:
        setattr(message, field.name, _scalar(field, choose))


def _is_repeated(value: Any) -> bool:
    return not isinstance(value, Message | str | bytes | int | float)


def _change_list(values: Any, field: Any, others: Sequence[Message], choose: random.Random) -> None:
    action = choose.randrange(4)
    if action == 0 and len(values):
        del values[choose.randrange(len(values))]
    elif action == 1 and len(values):
        values.extend([choose.choice(values)])
    elif field.type == field.TYPE_MESSAGE:
        if action == 2 and len(values):
            kept = list(values)
            choose.shuffle(kept)
            copies = [type(item).FromString(item.SerializeToString()) for item in kept]
            del values[:]
            values.extend(copies)
        else:
            _take(values.add(), others, choose)
    elif len(values) and action == 2:
        values[choose.randrange(len(values))] = _scalar(field, choose)
    else:
        values.append(_scalar(field, choose))


def _take(message: Message, others: Sequence[Message], choose: random.Random) -> None:
    """Replaces a message by a copy of another message of its type."""
    alike = [other for other in others if type(other) is type(message)]
    if alike:
        message.CopyFrom(choose.choice(alike))


def _scalar(field: Any, choose: random.Random) -> Any:
    if field.type == field.TYPE_STRING:
        return choose.choice(TEXTS)
    if field.type == field.TYPE_BYTES:
        return choose.choice((b"", b"x", b"\xff" * 7, bytes(64), bytes(4097)))
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return choose.choice(FLOATS)
    if field.type == field.TYPE_ENUM:
        return choose.choice(field.enum_type.values).number
    wide = field.type in (field.TYPE_INT64, field.TYPE_UINT64)
    numbers = [n for n in NUMBERS if wide or -(1 << 31) <= n < 1 << 31]
    if field.type in (field.TYPE_UINT64, field.TYPE_UINT32):
        numbers = [abs(n) for n in numbers]
    return choose.choice(numbers)


def mutate(model: ModelProto, choose: random.Random) -> None:
    """Makes one small change to the semantics of a node."""
    nodes = list(_nodes(model.graph))
    if not nodes:
        return
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
            attribute.f = choose.choice(FLOATS)
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
