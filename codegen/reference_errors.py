"""What goes wrong inside a reference, at the line that its author wrote."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import TracebackType

from codegen.errors import Position, SpecError
from codegen.yaml_reader import Scalar

EXPRESSION = "<reference>"  # the file that a spec's own expression is compiled as


def located(error: Exception, where: Scalar, folder: Path) -> SpecError:
    """The error at the innermost line of the spec's expression or of a module below `folder`."""
    modules = f"{Path(where.position.file).parent.as_posix()}/{folder.name}"
    position = where.position
    for file, line, column in _places(error):
        if file == EXPRESSION:
            position = where.at(column)
        elif Path(file).is_relative_to(folder):
            name = Path(file).relative_to(folder).as_posix()
            position = Position(f"{modules}/{name}", line, column + 1)
    return SpecError.at(position, f"The reference fails: {_text(error)}")


def _places(error: Exception) -> Iterator[tuple[str, int, int]]:
    """File, line and column (from 0) of every call that led to the error, the outermost first."""
    trace = error.__traceback__
    while trace is not None:
        line, column = _instruction(trace)
        yield trace.tb_frame.f_code.co_filename, line, column
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        yield error.filename, error.lineno or 1, max(error.offset or 1, 1) - 1


def _instruction(trace: TracebackType) -> tuple[int, int]:
    positions = trace.tb_frame.f_code.co_positions()
    line, _, column, _ = next(islice(positions, trace.tb_lasti // 2, None))
    return line or trace.tb_lineno, column or 0


def _text(error: Exception) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    words = " ".join(text.split()).rstrip(".")
    return f"{type(error).__name__}: {words}." if words else f"{type(error).__name__}."
