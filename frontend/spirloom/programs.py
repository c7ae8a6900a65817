"""Locates the C++ programs of the wheel or of a build of the repository, and runs spirloom-run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from spirloom.errors import ImportFailure
from spirloom.runtime.native import PACKAGE, find

SUFFIX = ".exe" if os.name == "nt" else ""


def find_run() -> tuple[Path, list[str]]:
    """The path of spirloom-run, and the arguments that name its kernels, which a wheel stores next
    to it.
    """
    packaged = PACKAGE / f"_native/spirloom-run{SUFFIX}"
    if packaged.exists():
        return packaged, ["--library", str(packaged.parent / "shaders_all.slpack")]
    return find_program("spirloom-run"), []


def find_program(name: str) -> Path:
    """The path of a program of a build or an installation."""
    files = find()
    above = [] if files is None else list(files.library.parents)
    for program in (directory / "bin" / (name + SUFFIX) for directory in above[:4]):
        if program.exists():
            return program
    raise ImportFailure(f"{name} was not found. Build it with `./dev build`.")


def run_arguments(given: Sequence[str]) -> list[str]:
    """The command line of spirloom-run with these arguments."""
    program, kernels = find_run()
    if kernels and "--no-builtin" not in given:
        # --library accepts all following arguments
        return [str(program), *given, "--no-builtin", *kernels]
    return [str(program), *given]


def run() -> None:
    """Replaces this process with spirloom-run; on Windows, runs it and waits."""
    try:
        command = run_arguments(sys.argv[1:])
    except ImportFailure as error:
        sys.exit(f"spirloom-run: error: {error}")
    if os.name == "nt":  # which cannot replace a process
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)
