"""Starts Python in a child process, which imports no module of the current directory.

Python searches the current directory first with `-c` and `-m`: a folder of models could contain an
`onnx.py`. Every child process of Python is started by `start` or `run`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

# Of Python's own variables, those that say where Python is, or that cannot add code.
_KEPT = ("PYTHONHOME", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONDONTWRITEBYTECODE")


def command(*arguments: str) -> list[str]:
    """The command line of a child process with these arguments of Python."""
    return [sys.executable, "-P", *arguments]


def environment() -> dict[str, str]:
    """The variables of a child process: those of this one, but of Python's only those that add no
    relative path."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON") or name in _KEPT
    }
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if absolute := [folder for folder in folders if folder and Path(folder).is_absolute()]:
        kept["PYTHONPATH"] = os.pathsep.join(absolute)
    return kept


def start(*arguments: str, **options: Any) -> subprocess.Popen[Any]:
    """subprocess.Popen of Python with these arguments."""
    return subprocess.Popen(command(*arguments), env=environment(), **options)


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[Any]:
    """subprocess.run of Python with these arguments."""
    return subprocess.run(command(*arguments), env=environment(), **options)
