"""Tables of functions by name, filled by decorators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def registers(table: dict[str, F]) -> Callable[..., Callable[[F], F]]:
    """A decorator that adds a function to the table under the given names, which must be new."""

    def named(*names: str) -> Callable[[F], F]:
        def register(function: F) -> F:
            assert table.keys().isdisjoint(names), names
            table.update(dict.fromkeys(names, function))
            return function

        return register

    return named
