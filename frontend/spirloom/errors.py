"""The error types: one family for import errors and run-time errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from errno import ENOMEM
from pathlib import Path

from spirloom.terminal import shown


class Status(IntEnum):
    """The kind of an error, with the values of the C API (spirloom_status)."""

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
    """Base class of all Spirloom errors. Messages state the expected and actual values and the
    remedy.
    """

    status = Status.INTERNAL


class ImportFailure(SpirloomError):
    """Invalid input: a model, a file or an option. The message is for the user and states the
    remedy.

    Each argument is one line. Quoted input is made safe to print.
    """

    status = Status.INVALID_ARGUMENT

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(map(shown, lines)))


@contextmanager
def reading(path: Path, remedy: str = "") -> Iterator[None]:
    """Converts an OSError of the block, which reads the file, to ImportFailure."""
    with _file_errors("read", path, remedy):
        yield


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Converts an OSError of the block, which writes the file, to ImportFailure."""
    with _file_errors("write", path, ""):
        yield


@contextmanager
def _file_errors(action: str, path: Path, remedy: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == ENOMEM:
            raise MemoryError from error
        message = f"Cannot {action} {error.filename or path}: {error.strerror or error}."
        raise ImportFailure(f"{message} {remedy}".rstrip()) from error


class Unsupported(Exception):
    """Why a node cannot be imported. Collected, so that one message lists every such node."""


class InTrainingMode(Unsupported):
    """A node that only training has. No other reason matters then."""

    def __init__(self, what: str) -> None:
        super().__init__(f"it {what}; call eval() on the module before exporting")


@dataclass(frozen=True, slots=True)
class NodeProblem:
    """A node that cannot be imported, and why."""

    op: str
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.op}, {self.name}: {self.reason}"


class NodesUnsupported(ImportFailure):
    """A model with nodes that cannot be imported: all of them, and a remedy."""

    def __init__(self, message: str, problems: tuple[NodeProblem, ...], remedy: str = "") -> None:
        lines = [message, *(f"  {problem}" for problem in problems), remedy]
        super().__init__(*filter(None, lines))
        self.problems = problems


def check_known(names: Iterable[str], known: Sequence[str], text: str) -> None:
    """Raises ImportFailure for a name that is not known, with the nearest one. `text` is the
    message up to the suggestion, with {} for the name."""
    from difflib import get_close_matches

    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1) or known
            raise ImportFailure(f"{text.format(name)} Did you mean {', '.join(near)}?")
