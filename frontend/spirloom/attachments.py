"""Attachments: bytes that go with a network and that the runtime does not read, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spirloom.errors import ImportFailure
from spirloom.ir import Graph

# Of a file, as the runtime reads them.
MOST = 64
MOST_NAME_BYTES = 255
MOST_BYTES = 256 << 20


def attachments_of(methods: Sequence[Graph]) -> dict[str, bytes]:
    """Those of all the methods of a file. Raises ImportFailure for ones that no file can hold."""
    found: dict[str, bytes] = {}
    for method in methods:
        for name, data in method.attachments.items():
            if found.setdefault(name, data) != data:
                raise ImportFailure(f"The methods have two attachments of the name {name!r}.")
    check_attachments(found)
    return found


def check_attachments(attachments: Mapping[str, bytes]) -> None:
    """Raises ImportFailure for too many of them, too large ones, and names that are none."""
    if len(attachments) > MOST:
        raise ImportFailure(f"A file has at most {MOST} attachments, not {len(attachments)}.")
    for name in attachments:
        if not 1 <= len(name.encode()) <= MOST_NAME_BYTES:
            raise ImportFailure(
                f"The name of an attachment has 1 to {MOST_NAME_BYTES} bytes; {name!r} has "
                f"{len(name.encode())}."
            )
    total = sum(map(len, attachments.values()))
    if total > MOST_BYTES:
        raise ImportFailure(f"Attachments have at most {MOST_BYTES} bytes together, not {total}.")
