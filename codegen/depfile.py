"""Depfiles: what a product follows from, as Make and Ninja read it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from codegen.writer import write_atomically


def write_depfile(depfile: Path, product: Path, inputs: Iterable[Path]) -> None:
    """Names the inputs of a product. A depfile that says so already stays as it is."""
    lines = " \\\n  ".join(_escaped(path) for path in sorted(inputs))
    data = f"{_escaped(product)}: \\\n  {lines}\n".encode()
    if not depfile.is_file() or depfile.read_bytes() != data:
        depfile.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(depfile, data)


def _escaped(path: Path) -> str:
    text = str(path.resolve())
    for char, escape in ((" ", "\\ "), ("#", "\\#"), ("$", "$$")):
        text = text.replace(char, escape)
    return text
