"""Locates the C++ programs of the wheel or of a build of the repository, and runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from spirloom.errors import ImportFailure
from spirloom.installation import is_wheel
from spirloom.runtime.native import PACKAGE, find

SUFFIX = ".exe" if os.name == "nt" else ""
NATIVE = PACKAGE / "_native"  # the programs of a wheel, and the kernels that they open


def find_program(name: str) -> Path:
    """The path of a program of the wheel, a build or an installation."""
    packaged = NATIVE / (name + SUFFIX)
    if packaged.exists():
        return packaged
    files = find()
    above = [] if files is None else list(files.library.absolute().parents)
    for program in (directory / "bin" / (name + SUFFIX) for directory in above[:4]):
        if program.exists():
            return program
    remedy = "This wheel was built without it" if is_wheel() else "Build it with `./dev build`"
    raise ImportFailure(f"{name} was not found. {remedy}.")


def command(name: str, given: Sequence[str]) -> list[str]:
    """The command line of a program with these arguments. The programs of a wheel contain no
    kernels: the arguments name its file of shaders, unless the given ones replace it.
    """
    program = find_program(name)
    if program.parent != NATIVE:
        return [str(program), *given]
    shaders = ["--library", str(NATIVE / "shaders_all.slpack")]
    if name == "spirloom-ops":  # which lists one library
        replaced = any(each.partition("=")[0] == "--library" for each in given)
        return [str(program), *given, *([] if replaced else shaders)]
    if "--no-builtin" in given:
        return [str(program), *given]
    # --library accepts all following arguments
    return [str(program), *given, "--no-builtin", *shaders]


def become(name: str, given: Sequence[str]) -> None:
    """Replaces this process with a program; on Windows, runs it and exits with its code."""
    words = command(name, given)
    sys.stdout.flush()
    if os.name == "nt":  # which cannot replace a process
        sys.exit(subprocess.call(words))
    os.execv(words[0], words)


def _main(name: str) -> None:
    try:
        become(name, sys.argv[1:])
    except ImportFailure as error:
        sys.exit(f"{name}: error: {error}")


def run() -> None:
    """The script spirloom-run."""
    _main("spirloom-run")


def llm() -> None:
    """The script spirloom-llm."""
    _main("spirloom-llm")


def ops() -> None:
    """The script spirloom-ops."""
    _main("spirloom-ops")
