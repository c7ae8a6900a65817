"""The error types of the front end."""

from __future__ import annotations

from dataclasses import dataclass

from spirloom.text import shown


class ImportFailure(Exception):
    """Bad input (a model, a file, an option). The message is for the user; it names the remedy.

    It quotes what was read, and so is made safe to print; each argument is a line.
    """

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
