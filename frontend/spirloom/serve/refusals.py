"""Requests that get no answer, as OpenAI's clients are told of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from spirloom.runtime.errors import InvalidArgument, Unsupported
from spirloom.text import shown


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
