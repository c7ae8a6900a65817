"""JSON of files of untrusted origin: values are read with a check of their type."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TypeVar

from spirloom.errors import ImportFailure

T = TypeVar("T")
_NAMES: Mapping[type, str] = {
    dict: "an object", list: "a list", str: "a string", int: "an integer", bool: "true or false",
    float: "a number",
}  # fmt: skip


class Json:
    """A value and its location, e.g. graph_module.graph.nodes[3] of model.json. Messages end with
    the remedy.
    """

    def __init__(
        self, value: Any, file: str, path: str = "", remedy: str = "Copy or download it again."
    ) -> None:
        self.value, self._file, self._path, self._remedy = value, file, path, remedy

    @property
    def location(self) -> str:
        """The file and the path of the value."""
        return f"{self._file}: {self._path}"

    def _inner(self, value: Any, path: str) -> Json:
        return Json(value, self._file, f"{self._path}{path}".lstrip("."), self._remedy)

    def _damaged(self, reason: str) -> ImportFailure:
        what = f"'{self._path}'" if self._path else "its content"
        return ImportFailure(f"{self._file} is damaged: {what} {reason}. {self._remedy}")

    def get(self, key: str) -> Json:
        """A required member."""
        found = self.find(key)
        if found is None:
            raise self._inner(None, f".{key}")._damaged("is missing")
        return found

    def find(self, key: str) -> Json | None:
        """A member; None if it is absent or null."""
        value = self.typed(dict).get(key)
        return None if value is None else self._inner(value, f".{key}")

    def items(self) -> list[Json]:
        """The items of a list."""
        return [self._inner(item, f"[{i}]") for i, item in enumerate(self.typed(list))]

    def entries(self) -> list[tuple[str, Json]]:
        """The members of an object."""
        return [(key, self._inner(value, f".{key}")) for key, value in self.typed(dict).items()]

    def single_member(self) -> tuple[str, Json]:
        """The single member of an object, which represents a union."""
        found = self.entries()
        if len(found) != 1:
            raise self._damaged(f"has {len(found)} members; expected 1")
        return found[0]

    def text(self) -> str:
        """A string."""
        return self.typed(str)

    def integer(self, low: int | None = None) -> int:
        """An integer; with `low`, of 64 bits and at least `low`."""
        found = self.typed(int)
        if low is not None and not low <= found < 1 << 63:
            raise self._damaged(f"must be an integer of at least {low} and 64 bits; found {found}")
        return found

    def integers(self) -> tuple[int, ...]:
        """A list of nonnegative integers of 64 bits."""
        found = self.typed(list)
        if not all(type(value) is int and 0 <= value < 1 << 63 for value in found):
            raise self._damaged("must be a list of nonnegative integers")
        return tuple(found)

    def number(self) -> float:
        """A finite, nonnegative number."""
        found = self.value if type(self.value) is int else self.typed(float)
        if not 0 <= found <= sys.float_info.max:
            raise self._damaged(f"must be a nonnegative number; found {str(found)[:40]}")
        return float(found)

    def typed(self, kind: type[T]) -> T:
        """The value. Raises ImportFailure if it has another type."""
        wrong = isinstance(self.value, bool) and kind is not bool
        if wrong or not isinstance(self.value, kind):
            found = "null" if self.value is None else type(self.value).__name__
            raise self._damaged(f"must be {_NAMES[kind]}; found {found}")
        return self.value
