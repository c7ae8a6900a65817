"""Changes JSON: a value becomes another, goes, doubles, or takes the place of one elsewhere."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

NUMBERS = (0, 1, -1, 2, 3, -2, 7, 100, 1 << 31, -(1 << 31), 1 << 62, 10**30, 0.5, -1.5, 1e308)
TEXTS = ("", "x", "..", "../../etc/passwd", "\n\x1b[2J", "é" * 300, "torch.ops.aten.add.Tensor",
         "torch.ops.aten.view.default", "torch.ops.aten.nonzero.default", "_operator.mul",
         "Symbol('s0', positive=True, integer=True)", "Mul(Integer(2), Symbol('s0'))")  # fmt: skip
# A member or an item of something: the container, and its key or index.
Place = tuple[Any, Any]


def places(value: Any) -> Iterator[Place]:
    """Every member and item below a value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in entries:
        yield value, key
        if isinstance(item, dict | list):
            yield from places(item)


def mutate(model: Any, choose: random.Random) -> None:
    """Makes one change, if there is anything to change."""
    found = list(places(model))
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
            other, place = choose.choice(found)
            container[key] = copy.deepcopy(other[place])
        case _:
            container[key] = _other(value, choose)


def _other(value: Any, choose: random.Random) -> Any:
    """Mostly of the same type."""
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
