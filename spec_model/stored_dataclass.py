"""Reads the dataclasses of a file of stored operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any


def restored(kind: Any, *values: object) -> object:
    """The dataclass with slots with these values of its fields. Called once per stored expression,
    tens of thousands of times."""
    value: object = kind.__new__(kind)
    for assign, field in zip(_assignments(kind), values, strict=True):
        assign(value, field)
    return value


@cache
def _assignments(kind: Any) -> list[Callable[[object, object], None]]:
    """Functions that set the fields, also of a frozen class."""
    return [getattr(kind, field.name).__set__ for field in fields(kind)]
