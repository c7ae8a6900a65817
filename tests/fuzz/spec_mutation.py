"""Mutates specs and templates by tokens or as YAML."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import yaml

_ODD = (
    "\x00", "\t", "é", "9" * 30, "-1", "null", "~", "!!int", "&a", "*a", "|", ">", "{}", "[]", "'",
    '"', "1e999", ".nan", "<<: *a", "? ", "- ", "{{", "{%", "#}", "x[0]", "(", "2 ** 99",
    "range(9)",
)  # fmt: skip


def tokens_of(text: str) -> list[str]:
    """Words, punctuation and white space."""
    return re.findall(r"\w+|[^\w\s]|\s+", text)


def mutate_tokens(text: str, others: Sequence[str], choose: random.Random) -> str:
    """Removes, duplicates, replaces or swaps one to three tokens."""
    tokens = tokens_of(text)
    for _ in range(choose.randint(1, 3)):
        index = choose.randrange(len(tokens))
        other = choose.choice(_ODD if choose.random() < 0.3 else others)
        match choose.randrange(5):
            case 0:
                tokens[index] = ""
            case 1:
                tokens[index] *= 2
            case 2:
                tokens[index] = other
            case 3:
                tokens.insert(index, other)
            case _:
                second = choose.randrange(len(tokens))
                tokens[index], tokens[second] = tokens[second], tokens[index]
    return "".join(tokens)


def mutate_structure(text: str, others: Sequence[object], choose: random.Random) -> str:
    """Removes, moves or replaces one or two values of the YAML document."""
    root = [yaml.safe_load(text)]
    for _ in range(choose.randint(1, 2)):
        holder, key = choose.choice([*_locations(root)])
        match choose.randrange(4):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[choose.choice((*holder, 7, None, "extra"))] = deepcopy(holder[key])
            case 1:
                holder.insert(0, deepcopy(holder[key]))
            case 2:
                holder[key] = [holder[key]]
            case _:
                holder[key] = deepcopy(choose.choice(others))
        if not root:
            return ""
    return str(yaml.safe_dump(root[0], sort_keys=False))


def values_of(text: str) -> list[object]:
    """All values of a YAML document, recursively."""
    return [holder[key] for holder, key in _locations([yaml.safe_load(text)])]


def _locations(value: object) -> list[tuple[Any, Any]]:
    """The container and the index or key of every value, recursively."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, list | dict):
        for key in range(len(value)) if isinstance(value, list) else value:
            found += [(value, key), *_locations(value[key])]
    return found
