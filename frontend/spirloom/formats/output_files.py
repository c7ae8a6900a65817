"""Checks of the files that commands and spirloom.convert write."""

from __future__ import annotations

from pathlib import Path

from spec_model.files import writable
from spirloom.errors import ImportFailure, writing


def refuse_input(option: str, output: Path, source: Path | None) -> None:
    """Raises ImportFailure, before any work, if `output` is the file `source` that the command
    reads: the result would replace it. `option` is the option of the output."""
    if source is None or not (output.exists() and source.exists() and output.samefile(source)):
        return
    raise ImportFailure(f"{option} is the input itself, {source}. Use another file name.")


def check_output(option: str, model: Path, output: Path) -> None:
    """Raises ImportFailure, before the import, if the graph file cannot be written, or would
    replace the model, one of its files, or a file that no import wrote."""
    if not model.exists():
        raise ImportFailure(f"Cannot read {model}: No such file or directory.")
    if output.is_dir():
        raise ImportFailure(f"{output} is a directory. {option} requires a file name.")
    if not output.parent.is_dir():
        raise ImportFailure(f"Cannot write {output}: the directory {output.parent} does not exist.")
    with writing(output):
        writable(output)
    refuse_input(option, output, model)
    if _is_foreign(output):
        raise ImportFailure(
            f"{output} exists and is not a graph file, so it is not replaced. Remove it, or use "
            "another file name."
        )


def _is_foreign(output: Path) -> bool:
    """Whether a file with content exists that no import wrote, by its name and content."""
    from spec_model.graph_file import IDENTIFIER
    from spirloom.mapped_file import starts_with

    if output.suffix == ".slg" or not output.is_file() or output.stat().st_size == 0:
        return False
    return not starts_with(output, IDENTIFIER, 8)
