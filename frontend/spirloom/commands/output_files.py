"""Checks of the files that commands write."""

from __future__ import annotations

from pathlib import Path

from spirloom.errors import ImportFailure


def refuse_input(option: str, output: Path, source: Path | None) -> None:
    """Raises ImportFailure, before any work, if `output` is the file `source` that the command
    reads: the result would replace it. `option` is the option of the output."""
    if source is None or not (output.exists() and source.exists() and output.samefile(source)):
        return
    raise ImportFailure(f"{option} is the input itself, {source}. Use another file name.")
