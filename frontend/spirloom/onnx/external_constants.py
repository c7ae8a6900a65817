"""A model file without the bytes of its large weights, which then lie outside as external data do.

Protocol Buffers would copy them, and hand out more copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from mmap import mmap

from onnx import StringStringEntryProto, TensorProto

_GRAPH, _INITIALIZER = 7, 5  # in ModelProto, and in GraphProto
_RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 9, 13, 14  # in TensorProto
_VARINT, _EIGHT_BYTES, _COUNTED, _FOUR_BYTES = 0, 1, 2, 5


class _NotPlain(Exception):
    """The bytes are not what an exporter writes: Protocol Buffers tell what is wrong."""


@dataclass(frozen=True, slots=True)
class _Field:
    number: int
    kind: int
    tag: int  # where the field begins,
    start: int  # where its value does,
    end: int  # and where it ends


def externalized(content: mmap, own_name: str, least: int) -> bytes:
    """The model, in which initializers of `least` bytes or more are external data of the file
    `own_name`, which is this one. All of it where it is not as expected."""
    try:
        slimmer = _Slimmer(content, own_name, least)
        return b"".join(slimmer.of(0, len(content), (_GRAPH, _INITIALIZER)))
    except (_NotPlain, IndexError):
        return content[:]


class _Slimmer:
    def __init__(self, content: mmap, own_name: str, least: int) -> None:
        self._content = content
        self._own_name = own_name
        self._least = least

    def of(self, start: int, end: int, path: Sequence[int]) -> list[bytes]:
        """A message whose field `path[0]` holds messages of the rest of the path, tensors last."""
        if not path:
            return self._tensor(start, end)
        pieces = []
        for field in self._fields(start, end):
            if field.number == path[0] and field.kind == _COUNTED:
                inner = b"".join(self.of(field.start, field.end, path[1:]))
                pieces.append(_counted(field.number, inner))
            else:
                pieces.append(self._content[field.tag : field.end])
        return pieces

    def _tensor(self, start: int, end: int) -> list[bytes]:
        if end - start < self._least:
            return [self._content[start:end]]
        fields = list(self._fields(start, end))
        raw = [f for f in fields if f.number == _RAW_DATA]
        elsewhere = any(f.number in (_EXTERNAL_DATA, _DATA_LOCATION) for f in fields)
        if len(raw) != 1 or elsewhere or raw[0].end - raw[0].start < self._least:
            return [self._content[start:end]]
        kept = [self._content[f.tag : f.end] for f in fields if f is not raw[0]]
        return [*kept, self._reference(raw[0])]

    def _reference(self, raw: _Field) -> bytes:
        place = {"location": self._own_name, "offset": raw.start, "length": raw.end - raw.start}
        made = TensorProto(data_location=TensorProto.EXTERNAL)
        made.external_data.extend(
            StringStringEntryProto(key=key, value=str(value)) for key, value in place.items()
        )
        return bytes(made.SerializeToString())

    def _fields(self, start: int, end: int) -> Iterator[_Field]:
        at = start
        while at < end:
            key, value = self._varint(at)
            kind, after = key & 7, value
            if kind == _VARINT:
                after = self._varint(value)[1]
            elif kind == _COUNTED:
                size, value = self._varint(value)
                after = value + size
            elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
                after = value + (8 if kind == _EIGHT_BYTES else 4)
            else:
                raise _NotPlain
            if after > end:
                raise _NotPlain
            yield _Field(key >> 3, kind, at, value, after)
            at = after

    def _varint(self, at: int) -> tuple[int, int]:
        """The number that stands at a place, and where it ends."""
        number = shift = 0
        while shift < 64:
            byte = self._content[at]
            number |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return number, at
        raise _NotPlain


def _counted(number: int, inner: bytes) -> bytes:
    return _as_varint(number << 3 | _COUNTED) + _as_varint(len(inner)) + inner


def _as_varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*found, number))
