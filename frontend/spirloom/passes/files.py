"""Python files that register passes."""

from __future__ import annotations

import runpy
import traceback
from pathlib import Path

from spirloom.errors import ImportFailure, reading

_loaded: set[Path] = set()


def add_passes_of(path: Path) -> None:
    """Runs a Python file, which registers passes, once in this process. Raises ImportFailure, with
    the line, if it raises an exception.
    """
    if path.resolve() in _loaded:
        return
    with reading(path):
        path.read_bytes()
    try:
        runpy.run_path(str(path))
    except SyntaxError as error:
        raise ImportFailure(
            f"{error.filename}:{error.lineno}: SyntaxError: {error.msg}."
        ) from error
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        where = f"{path}:{frames[-1].lineno}" if frames else str(path)
        raise ImportFailure(f"{where}: {type(error).__name__}: {error}") from error
    _loaded.add(path.resolve())
