"""The error types: one family for what cannot be imported and what cannot be run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from spirloom.text import shown


class Status(IntEnum):
    """The kind of an error; the numbers are the C API's (spirloom_status)."""

    OK = 0
    INVALID_ARGUMENT = 1
    INVALID_FILE = 2
    NOT_FOUND = 3
    UNSUPPORTED = 4
    OUT_OF_MEMORY = 5
    DEVICE_LOST = 6
    INTERNAL = 7
    BUSY = 8
    PERMISSION = 9
    UNAVAILABLE = 10


class SpirloomError(Exception):
    """Whatever Spirloom raises on purpose. The message names the thing, both values, the remedy."""

    status = Status.INTERNAL


class ImportFailure(SpirloomError):
    """Bad input (a model, a file, an option). The message is for the user; it names the remedy.

    It quotes what was read, and so is made safe to print; each argument is a line.
    """

    status = Status.INVALID_ARGUMENT

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(map(shown, lines)))


class Unsupported(Exception):
    """Why a node cannot be imported. Collected, so that one message lists every such node."""


@dataclass(frozen=True, slots=True)
class NodeProblem:
    """A node that cannot be imported, and why."""

    op: str
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.op}, {self.name}: {self.reason}"


class NodesUnsupported(ImportFailure):
    """A model with nodes that cannot be imported: all of them."""

    def __init__(self, message: str, problems: tuple[NodeProblem, ...]) -> None:
        super().__init__(message, *(f"  {problem}" for problem in problems))
        self.problems = problems
