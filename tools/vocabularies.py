"""Copies the rows of the tables in spec_model/ into the files that cannot expand them: public
headers, the schema of graph files, Python enums, documentation.

    python3 -m tools.vocabularies --write     rewrite the rows (./dev update)

A region of such a file opens with a comment that contains a format, and ends with "End of rows":

    // Rows of data_types.inc: k{id} = {code},
    // End of rows.

The fields of a format are the columns of the table, `code`, the index of the row, and `upper`, the
upper-case name. "from 1" after the table's name skips the first row.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from spec_model.table import rows

ROOT = Path(__file__).resolve().parent.parent
# The macro of a table's rows, unless the region names another.
MACROS = {
    "data_types.inc": "SPIRLOOM_DTYPE",
    "storages.inc": "SPIRLOOM_STORAGE",
    "capabilities.inc": "SPIRLOOM_CAPABILITY",
    "activations.inc": "SPIRLOOM_ACTIVATION",
}
FILES = (
    "docs/reference/spec-language.md",
    "frontend/spirloom/runtime/abi.py",
    "runtime/include/spirloom/c/base.h",
    "runtime/include/spirloom/types.h",
    "schema/graph.fbs",
    "spec_model/activations.py",
    "spec_model/vocabulary.py",
)
_REGION = re.compile(
    r"(?P<open>^(?P<indent> *)(?:#|//|<!--) Rows (?:(?P<macro>\w+) )?of (?P<file>\w+\.inc)"
    r"(?: from (?P<first>\d+))?: (?P<format>.*?)(?: -->)?\n)"
    r"(?P<rows>(?:.*\n)*?)(?=^ *(?:#|//|<!--) End of rows)",
    re.MULTILINE,
)


def updated(text: str) -> str:
    """The text with the present rows in all regions."""
    return _REGION.sub(_region, text)


def _region(match: re.Match[str]) -> str:
    file = match["file"]
    kept = rows(file, match["macro"] or MACROS[file])[int(match["first"] or 0) :]
    lines = [match["format"].format(**row, upper=row["name"].upper()).rstrip() for row in kept]
    return match["open"] + "".join(f"{match['indent']}{line}\n" for line in _aligned(lines))


def _aligned(lines: list[str]) -> list[str]:
    """Comments at the ends of lines begin in one column, as clang-format places them."""
    parts = [line.partition("  // ") for line in lines]
    width = max(len(code) for code, _, _ in parts)
    return [f"{code:{width}}{slashes}{text}" if text else code for code, slashes, text in parts]


def stale(root: Path = ROOT) -> list[str]:
    """The files whose rows differ from the tables."""
    texts = {name: (root / name).read_text(encoding="utf-8") for name in FILES}
    return [name for name, text in texts.items() if updated(text) != text]


def main() -> int:
    """Lists the files with other rows, or rewrites them. Exit code 1: there are some."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="rewrite the rows")
    write = parser.parse_args().write
    found = stale()
    for name in found:
        path = ROOT / name
        if write:
            path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            print(f"The rows of tables in {name} are out of date. Run ./dev update.")
    return 1 if found and not write else 0


if __name__ == "__main__":
    raise SystemExit(main())
