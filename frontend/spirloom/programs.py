"""The programs that come with the package, or that a build of the repository made."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from spirloom.errors import ImportFailure
from spirloom.runtime.files import PACKAGE, find


def find_run() -> tuple[Path, list[str]]:
    """spirloom-run, and the arguments that name its kernels: those of the wheel lie beside it."""
    packaged = PACKAGE / "_native/spirloom-run"
    if packaged.exists():
        return packaged, ["--library", str(packaged.parent / "shaders_all.slpack")]
    files = find()
    above = [] if files is None else list(files.library.parents)
    for program in (folder / "bin/spirloom-run" for folder in above[:4]):
        if program.exists():
            return program, []
    raise ImportFailure("There is no spirloom-run; it is built by `./dev build`.")


def run_arguments(given: Sequence[str]) -> list[str]:
    """The command line of spirloom-run with these arguments."""
    program, kernels = find_run()
    if kernels and "--no-builtin" not in given:
        return [str(program), "--no-builtin", *kernels, *given]
    return [str(program), *given]


def run() -> None:
    """Becomes spirloom-run, with this process's arguments."""
    try:
        command = run_arguments(sys.argv[1:])
    except ImportFailure as error:
        sys.exit(f"spirloom-run: error: {error}")
    os.execv(command[0], command)
