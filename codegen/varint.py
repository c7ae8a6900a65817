"""Numbers and texts as the registry's bytes have them: LEB128, zigzag, counted text."""

from __future__ import annotations


def varint(value: int) -> bytes:
    """An unsigned number, 7 bits to a byte, lowest first."""
    assert 0 <= value < 2**64, value
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def zigzag(value: int) -> bytes:
    """A signed number of 64 bits: 0, -1, 1, -2 … as 0, 1, 2, 3 …"""
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def counted(data: bytes) -> bytes:
    """Bytes behind their number."""
    return varint(len(data)) + data


def text(value: str) -> bytes:
    """Counted UTF-8 and, not counted, a NUL: the runtime points at it."""
    return counted(value.encode()) + b"\0"
