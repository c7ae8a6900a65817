"""Reads the statistics of GPU vendors' compilers (`./dev test-vendors`), and arranges them by
family for a page with search and sorting.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spirloom.errors import ImportFailure, reading

# In a checkout of the repository: a file for each version of a driver.
TABLES = Path(__file__).resolve().parents[3] / "build" / "vendors"
# Bytes of shared memory of a workgroup: one column for all families of a file.
_SHARED = "lds"

Rows = dict[str, list[int | None]]


def find_statistics() -> list[Path]:
    """The files of a checkout; none elsewhere, and before `./dev test-vendors`."""
    return sorted(TABLES.glob("*.tsv"))


def read_statistics(path: Path) -> tuple[list[str], Rows]:
    """The columns, and the values by variant: None where the variant was not compiled.

    Raises ImportFailure.
    """
    with reading(path):
        lines = path.read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    if not cells or cells[0][0] != "variant":
        raise ImportFailure(f"{path} is no table of ./dev test-vendors: no column 'variant'.")
    return cells[0][1:], {
        row[0]: [int(cell) if cell.isdecimal() else None for cell in row[1:]] for row in cells[1:]
    }


def statistics_data(paths: Sequence[Path]) -> dict[str, Any]:
    """The data of the page: for each family its columns, and a row per variant that was compiled.

    Raises ImportFailure.
    """
    families: list[dict[str, Any]] = []
    for path in paths:
        columns, rows = read_statistics(path)
        driver = path.read_text(encoding="utf-8").split(". ", 1)[0].removeprefix("# ")
        shared = columns.index(_SHARED)
        for family in dict.fromkeys(name.split(".")[0] for name in columns if "." in name):
            own = [i for i, name in enumerate(columns) if name.startswith(f"{family}.")]
            picked = [*own, shared]
            families.append(
                {
                    "name": family,
                    "driver": driver,
                    "columns": [columns[i].rpartition(".")[2] for i in picked],
                    "rows": [
                        [variant, *(values[i] for i in picked)]
                        for variant, values in rows.items()
                        if values[own[0]] is not None
                    ],
                }
            )
    return {"title": "Shader statistics of Spirloom", "families": families, "nodes": []}
