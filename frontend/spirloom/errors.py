"""The error types of the front end."""

from __future__ import annotations

from dataclasses import dataclass


class ImportFailure(Exception):
    """Bad input (a model, a file, an option). The message is for the user; it names the remedy."""


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
        super().__init__(message)
        self.problems = problems
