"""Rewrites large weights of a model file as external data that refer to the same file.

Parsing them with Protocol Buffers would copy them several times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onnx import StringStringEntryProto, TensorProto

_GRAPH, _INITIALIZER = 7, 5  # in ModelProto, and in GraphProto
_RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 9, 13, 14  # in TensorProto
_VARINT, _I64, _LEN, _I32 = 0, 1, 2, 5  # wire types


class _Malformed(Exception):
    """The encoding is invalid. The Protocol Buffers parser then reports the error."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field with the offsets of its tag, of its value, and of its end."""

    id: int
    wire_type: int
    tag: int
    start: int
    end: int


def externalized(content: memoryview, own_name: str, min_bytes: int) -> bytes:
    """The model with initializers of `min_bytes` or more as external data of the file `own_name`,
    which has this content. A malformed model is returned unchanged.
    """
    try:
        rewriter = _Rewriter(content, own_name, min_bytes)
        return b"".join(rewriter.message(0, len(content), (_GRAPH, _INITIALIZER)))
    except (_Malformed, IndexError):
        return bytes(content)


class _Rewriter:
    def __init__(self, content: memoryview, own_name: str, min_bytes: int) -> None:
        self._content = content
        self._own_name = own_name
        self._min_bytes = min_bytes

    def message(self, start: int, end: int, path: Sequence[int]) -> list[bytes | memoryview]:
        """A message. `path` are the ids of the nested fields that lead to tensors."""
        if not path:
            return self._tensor(start, end)
        pieces: list[bytes | memoryview] = []
        for field in self._fields(start, end):
            if field.id == path[0] and field.wire_type == _LEN:
                inner = b"".join(self.message(field.start, field.end, path[1:]))
                pieces.append(_length_delimited(field.id, inner))
            else:
                pieces.append(self._content[field.tag : field.end])
        return pieces

    def _tensor(self, start: int, end: int) -> list[bytes | memoryview]:
        if end - start < self._min_bytes:
            return [self._content[start:end]]
        fields = list(self._fields(start, end))
        raw = [f for f in fields if f.id == _RAW_DATA]
        external = any(f.id in (_EXTERNAL_DATA, _DATA_LOCATION) for f in fields)
        if len(raw) != 1 or external or raw[0].end - raw[0].start < self._min_bytes:
            return [self._content[start:end]]
        kept = [self._content[f.tag : f.end] for f in fields if f is not raw[0]]
        return [*kept, self._reference(raw[0])]

    def _reference(self, raw: _Field) -> bytes:
        entries = {"location": self._own_name, "offset": raw.start, "length": raw.end - raw.start}
        made = TensorProto(data_location=TensorProto.EXTERNAL)
        made.external_data.extend(
            StringStringEntryProto(key=key, value=str(value)) for key, value in entries.items()
        )
        return bytes(made.SerializeToString())

    def _fields(self, start: int, end: int) -> Iterator[_Field]:
        at = start
        while at < end:
            key, value = self._varint(at)
            wire_type, after = key & 7, value
            if wire_type == _VARINT:
                after = self._varint(value)[1]
            elif wire_type == _LEN:
                size, value = self._varint(value)
                after = value + size
            elif wire_type in (_I64, _I32):
                after = value + (8 if wire_type == _I64 else 4)
            else:
                raise _Malformed
            if after > end:
                raise _Malformed
            yield _Field(key >> 3, wire_type, at, value, after)
            at = after

    def _varint(self, at: int) -> tuple[int, int]:
        """The varint at an offset, and the offset of its end."""
        value = shift = 0
        while shift < 64:
            byte = self._content[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at
        raise _Malformed


def _length_delimited(field: int, inner: bytes) -> bytes:
    return _as_varint(field << 3 | _LEN) + _as_varint(len(inner)) + inner


def _as_varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))
