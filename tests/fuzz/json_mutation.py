"""Mutates JSON: changes, removes, duplicates or copies values."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

NUMBERS = (0, 1, -1, 2, 3, -2, 7, 100, 1 << 31, -(1 << 31), 1 << 62, 10**30, 0.5, -1.5, 1e308)
TEXTS = ("", "x", "..", "../../etc/passwd", "\n\x1b[2J", "é" * 300, "torch.ops.aten.add.Tensor",
         "torch.ops.aten.view.default", "torch.ops.aten.nonzero.default", "_operator.mul",
         "Symbol('s0', positive=True, integer=True)", "Mul(Integer(2), Symbol('s0'))")  # fmt: skip
# A container and a key or index in it.
Location = tuple[Any, Any]


def locations(value: Any) -> Iterator[Location]:
    """All members and items of a value, recursively."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in entries:
        yield value, key
        if isinstance(item, dict | list):
            yield from locations(item)


def mutate(model: Any, choose: random.Random) -> None:
    """Makes one change, unless the model is empty."""
    found = list(locations(model))
    if not found:
        return
    container, key = choose.choice(found)
    value = container[key]
    match choose.randrange(8):
        case 0:
            del container[key]
        case 1 if isinstance(container, list):
            container.insert(choose.randrange(len(container) + 1), copy.deepcopy(value))
        case 2 | 3:
            other, other_key = choose.choice(found)
            container[key] = copy.deepcopy(other[other_key])
        case _:
            container[key] = _other(value, choose)


def _other(value: Any, choose: random.Random) -> Any:
    """A different value, usually of the same type."""
    if choose.random() < 0.1:
        return choose.choice((None, True, [], {}, "", 1, [[]] * 3))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return choose.choice((*NUMBERS, value + 1, value - 1))
    if isinstance(value, str):
        return choose.choice((*TEXTS, value[1:], value.replace("_1", "_2")))
    if isinstance(value, list) and value:
        choose.shuffle(value)
    return value
