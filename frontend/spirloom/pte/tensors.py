"""Tensors among the values of a method: where they lie, and what they are called."""

from __future__ import annotations

from spirloom.pte.flatbuffer import Row
from spirloom.torch.program import Meta

_EXTERNAL = 1


def title_of(index: int, row: Row) -> str:
    """A tensor for people."""
    extra = row["extra"]
    return f"'{extra['name']}'" if extra is not None and extra["name"] else f"value {index}"


def ints(meta: Meta) -> tuple[int, ...]:
    """The sizes."""
    return tuple(size for size in meta.shape if isinstance(size, int))


def place_of(row: Row) -> tuple[int, int] | None:
    """Where in the program's memory a tensor lies."""
    at = row["allocation"]
    return None if at is None else (at["memory"], at["high"] << 32 | at["low"])


def is_external(row: Row) -> bool:
    """Whether its bytes lie in another file."""
    return row["extra"] is not None and row["extra"]["place"] == _EXTERNAL
