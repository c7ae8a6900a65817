"""The error type of invalid specs and templates: messages with file, line and column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A position in a spec or template. `line` and `column` count from 1; 0 omits it."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        parts = [self.file]
        if self.line:
            parts.append(str(self.line))
            if self.column:
                parts.append(str(self.column))
        return ":".join(parts)

    def shifted(self, columns: int) -> Position:
        """The position `columns` further right on the same line."""
        return Position(self.file, self.line, self.column + columns)


class LocatedText(str):
    """A string from a file, and its position there."""

    position: Position  # of its first character
    # Offset and position of each further line; None: only the first character has a position.
    pieces: tuple[tuple[int, Position], ...] | None

    @classmethod
    def at(
        cls,
        position: Position,
        text: str,
        pieces: tuple[tuple[int, Position], ...] | None = None,
    ) -> LocatedText:
        """The text with its position."""
        found = cls(text)
        found.position = position
        found.pieces = pieces
        return found


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """One error at a position."""

    position: Position
    message: str

    def __str__(self) -> str:
        return f"{self.position}: error: {self.message}"


class SpecError(Exception):
    """One or more errors in specs or templates; `str()` returns one line for each."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(sorted(set(diagnostics)))
        super().__init__("\n".join(map(str, self.diagnostics)))

    @classmethod
    def at(cls, position: Position, message: str) -> SpecError:
        """The exception for a single error."""
        return cls([Diagnostic(position, message)])


class ErrorList:
    """Collects the errors of independent steps, so that one run reports all of them.

    Use as `with errors: step()`; `raise_any()` raises the collected errors.
    """

    def __init__(self) -> None:
        self._diagnostics: list[Diagnostic] = []

    def __enter__(self) -> ErrorList:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, SpecError):
            self._diagnostics.extend(error.diagnostics)
            return True
        return False

    def __len__(self) -> int:
        return len(self._diagnostics)

    def raise_any(self) -> None:
        """Raises a SpecError with every collected error, if there is one."""
        if self._diagnostics:
            raise SpecError(self._diagnostics)


def one_of(names: Iterable[str]) -> str:
    """The list of a message "… is not one of: a, b, c."."""
    return ", ".join(names) or "(none)"
