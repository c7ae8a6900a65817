"""Validates JSON fields of requests. An invalid one becomes an error in OpenAI's format."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from spirloom.runtime.errors import InvalidArgument, Unsupported
from spirloom.terminal import shown


class Refused(Exception):
    """Why, with the field that is to blame, a word for programs, and the status of HTTP."""

    def __init__(
        self, message: str, *, param: str | None = None, code: str | None = None, status: int = 400
    ) -> None:
        super().__init__(message)
        self.param, self.code, self.status = param, code, status

    def body(self) -> dict[str, object]:
        """What the answer says, in OpenAI's form."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        # Messages quote what was sent, which may be no text that can be sent back.
        details = {"message": shown(str(self)), "type": kind}
        return {"error": {**details, "param": self.param, "code": self.code}}


@contextmanager
def blaming(param: str, code: str | None = None) -> Iterator[None]:
    """Refuses what the model cannot take, by the name of the field that says it."""
    try:
        yield
    except (InvalidArgument, Unsupported) as error:
        raise Refused(str(error), param=param, code=code) from error


_TYPES = {
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
_MAX_QUOTED = 60  # letters of a value, in a message


class Fields:
    """An object by the names of its fields; what is null counts as absent."""

    def __init__(self, values: object, place: str = "") -> None:
        """`place` is where in the request it stands, such as messages[0]. Raises Refused."""
        self._place = place
        if not isinstance(values, dict):
            message = f"{place or 'The request'} is {type_of(values)}; it has to be an object."
            raise Refused(message, param=place or None)
        self._values: Mapping[str, Any] = {k: v for k, v in values.items() if v is not None}

    def name(self, field: str) -> str:
        """As messages call it: messages[0].role."""
        return f"{self._place}.{field}" if self._place else field

    def names(self) -> list[str]:
        """The fields that there are."""
        return list(self._values)

    def get(self, field: str) -> Any:
        """A value of any type, None if it is absent."""
        return self._values.get(field)

    def flag(self, field: str) -> bool:
        """False if it is absent."""
        return bool(self._typed(field, (bool,), "true or false"))

    def integer(self, field: str) -> int | None:
        found: int | None = self._typed(field, (int,), "an integer")
        return found

    def number(self, field: str) -> float | None:
        found: float | None = self._typed(field, (int, float), "a number")
        return found

    def text(self, field: str) -> str | None:
        found = self._typed(field, (str,), "a string")
        return None if found is None else checked_text(found, self.name(field))

    def refuse(self, field: str, wanted: str) -> Refused:
        """What to raise for a value of a wrong type."""
        name, value = self.name(field), self._values.get(field)
        return Refused(f"{name} is {type_of(value)}; it has to be {wanted}.", param=name)

    def only(self, field: str, allowed: Collection[object]) -> None:
        """Refuses a value that is none of these, of their types, and is not empty either."""
        value = self._values.get(field)
        if value is None or any(type(value) is type(one) and value == one for one in allowed):
            return
        if isinstance(value, list | dict | str) and not value:
            return
        name = self.name(field)
        taken = " or ".join(quoted(one) for one in allowed)
        remedy = f"only {taken} is supported" if taken else "it is not supported"
        raise Refused(f"{name} is {quoted(value)}; {remedy}.", param=name, code="unsupported_value")

    def _typed(self, field: str, types: tuple[type, ...], wanted: str) -> Any:
        value = self._values.get(field)
        # By type(), as True is an int.
        if value is not None and type(value) not in types:
            raise self.refuse(field, wanted)
        return value


def checked_text(text: str, name: str) -> str:
    """The text, unless it holds half a surrogate pair, which JSON can say and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Refused(f"{name} is no text: {error.reason}.", param=name) from error
    return text


def type_of(value: object) -> str:
    """What JSON calls it."""
    return _TYPES[type(value)]


def quoted(value: object) -> str:
    """A value as JSON has it, shortened."""
    text = json.dumps(value)
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"


def parse(body: bytes) -> Fields:
    """The object that a request's body is. Raises Refused."""
    try:
        return Fields(json.loads(body, parse_constant=_no_constant))
    except (ValueError, RecursionError) as error:
        raise Refused(f"The request's body is no JSON: {error}.", code="invalid_json") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"it has no number {name}")
