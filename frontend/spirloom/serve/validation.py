"""Validates JSON fields of requests. An invalid one becomes an error in OpenAI's format."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from spirloom.llm import ContextExceeded
from spirloom.runtime.errors import InvalidArgument, Unsupported
from spirloom.terminal import shown


class RequestError(Exception):
    """An invalid request: the message, the field, an error code and the HTTP status."""

    def __init__(
        self, message: str, *, param: str | None = None, code: str | None = None, status: int = 400
    ) -> None:
        super().__init__(message)
        self.param, self.code, self.status = param, code, status

    def body(self) -> dict[str, object]:
        """The response body in OpenAI's error format."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        # Messages quote the request, which may contain unencodable or control characters.
        details = {"message": shown(str(self)), "type": kind}
        return {"error": {**details, "param": self.param, "code": self.code}}


@contextmanager
def request_errors(param: str) -> Iterator[None]:
    """Converts InvalidArgument and Unsupported to a RequestError for the field `param`."""
    try:
        yield
    except ContextExceeded as error:
        raise RequestError(str(error), param=param, code="context_length_exceeded") from error
    except (InvalidArgument, Unsupported) as error:
        raise RequestError(str(error), param=param) from error


_TYPES = {
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
_MAX_QUOTED = 60  # characters of a value in a message
_MAX_DEPTH = 100  # nested objects and lists of a request


class Fields:
    """The fields of a JSON object. A null value counts as absent."""

    def __init__(self, values: object, path: str = "") -> None:
        """`path` is the object's path in the request, such as messages[0]. Raises RequestError."""
        self._path = path
        if not isinstance(values, dict):
            message = f"{path or 'The request'} is {type_of(values)}; expected an object."
            raise RequestError(message, param=path or None)
        self._values: Mapping[str, Any] = {k: v for k, v in values.items() if v is not None}

    def name(self, field: str) -> str:
        """The full path of a field: messages[0].role."""
        return f"{self._path}.{field}" if self._path else field

    def names(self) -> list[str]:
        """The names of the present fields."""
        return list(self._values)

    def get(self, field: str) -> Any:
        """The value, of any type; None if absent."""
        return self._values.get(field)

    def flag(self, field: str) -> bool:
        """A boolean; False if absent."""
        return bool(self._typed(field, (bool,), "true or false"))

    def integer(self, field: str) -> int | None:
        found: int | None = self._typed(field, (int,), "an integer")
        return found

    def number(self, field: str) -> float | None:
        found: float | None = self._typed(field, (int, float), "a number")
        return found

    def text(self, field: str) -> str | None:
        found = self._typed(field, (str,), "a string")
        return None if found is None else checked_string(found, self.name(field))

    def type_error(self, field: str, expected: str) -> RequestError:
        """The error for a value of the wrong type."""
        name, value = self.name(field), self._values.get(field)
        return RequestError(f"{name} is {type_of(value)}; expected {expected}.", param=name)

    def only(self, field: str, allowed: Collection[object]) -> None:
        """Raises RequestError unless the value is absent, empty or one of `allowed`."""
        value = self._values.get(field)
        if value is None or any(type(value) is type(one) and value == one for one in allowed):
            return
        if isinstance(value, list | dict | str) and not value:
            return
        name = self.name(field)
        supported = " or ".join(quoted(one) for one in allowed)
        remedy = f"only {supported} is supported" if supported else "it is not supported"
        raise RequestError(
            f"{name} is {quoted(value)}; {remedy}.", param=name, code="unsupported_value"
        )

    def _typed(self, field: str, types: tuple[type, ...], expected: str) -> Any:
        value = self._values.get(field)
        # Not isinstance(): True is an int.
        if value is not None and type(value) not in types:
            raise self.type_error(field, expected)
        return value


def checked_string(text: str, name: str) -> str:
    """The text. Raises RequestError for an unpaired surrogate, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RequestError(f"{name} is not valid Unicode: {error.reason}.", param=name) from error
    return text


def type_of(value: object) -> str:
    """The name of the value's JSON type."""
    return _TYPES[type(value)]


def quoted(value: object) -> str:
    """The value as JSON, truncated."""
    text = json.dumps(value)
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"


def parse(body: bytes) -> Fields:
    """Parses the request body, a JSON object. Raises RequestError."""
    try:
        value = json.loads(body, parse_constant=_no_constant)
        _check_depth(value)
        return Fields(value)
    except (ValueError, RecursionError) as error:
        raise RequestError(
            f"The request body is not valid JSON: {error}.", code="invalid_json"
        ) from error


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            item
            for each in level
            if isinstance(each, dict | list)
            for item in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise ValueError(f"it has more than {_MAX_DEPTH} nested levels")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not allowed")
