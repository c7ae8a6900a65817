"""Reading JSON that may be anything: each value is checked, and named where it is wrong."""

from __future__ import annotations

from typing import Any, TypeVar

from spirloom.errors import ImportFailure

T = TypeVar("T")
_NAMES = {dict: "an object", list: "a list", str: "a text", int: "a whole number", bool: "a bool"}


class Json:
    """A value and its place, e.g. model.json: graph_module.graph.nodes.3."""

    def __init__(self, value: Any, place: str) -> None:
        self.value = value
        self.place = place

    def get(self, key: str) -> Json:
        """A member, which must be there."""
        found = self.find(key)
        if found is None:
            raise ImportFailure(f"{self.place} has no '{key}'.")
        return found

    def find(self, key: str) -> Json | None:
        """A member; None if it is absent or null."""
        value = self.of(dict).get(key)
        return None if value is None else Json(value, f"{self.place}.{key}")

    def items(self) -> list[Json]:
        """The items of a list."""
        return [Json(item, f"{self.place}.{i}") for i, item in enumerate(self.of(list))]

    def entries(self) -> list[tuple[str, Json]]:
        """The members of an object."""
        return [(k, Json(v, f"{self.place}.{k}")) for k, v in self.of(dict).items()]

    def only(self) -> tuple[str, Json]:
        """The one member of an object, which is how unions are written."""
        found = self.entries()
        if len(found) != 1:
            raise ImportFailure(f"{self.place} has {len(found)} members instead of one.")
        return found[0]

    def text(self) -> str:
        """A string."""
        return self.of(str)

    def whole(self) -> int:
        """An int that is no bool."""
        return self.of(int)

    def of(self, kind: type[T]) -> T:
        """The value, if it is of that type."""
        wrong = isinstance(self.value, bool) and kind is not bool
        if wrong or not isinstance(self.value, kind):
            raise ImportFailure(f"{self.place} is not {_NAMES.get(kind, kind.__name__)}.")
        return self.value
