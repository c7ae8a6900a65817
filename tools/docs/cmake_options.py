"""The page of CMake options, from their declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tools.docs.page import ROOT, code, escaped, table, write_if_changed

SOURCES = ("SpirloomOptions.cmake", "SpirloomShaderLibrary.cmake")

_DECLARATION = re.compile(
    r"^\s*(?:option\((SPIRLOOM_\w+)\s+\"([^\"]*)\"\s+([^)]*)\)"
    r"|set\((SPIRLOOM_\w+)\s+(\"[^\"]*\"|\S+)\s+CACHE\s+(\w+)\s+\"([^\"]*)\"\))",
    re.MULTILINE,
)


def options() -> Iterator[tuple[str, str, str]]:
    """Name, default and description of each option."""
    text = "\n".join((ROOT / "cmake" / name).read_text(encoding="utf-8") for name in SOURCES)
    for found in _DECLARATION.finditer(text):
        if found[1]:
            default = found[3].strip()
            yield found[1], "depends" if default.startswith("${") else default, found[2]
        elif found[6] != "INTERNAL":
            yield found[4], found[5].strip('"'), found[7]


def write_pages(out: Path) -> None:
    """cmake-options.md: one table."""
    rows = ([code(name), code(default), escaped(text)] for name, default, text in options())
    write_if_changed(out / "cmake-options.md", table(["Option", "Default", "Meaning"], rows))
