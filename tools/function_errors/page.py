"""The page of the measured errors: a section with a table for each device."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from tools.function_errors.measure import Row

_HEAD = (
    "| function | fp32: guaranteed | measured | worst argument | fp16: guaranteed | measured |\n"
    "|---|--:|--:|---|--:|--:|\n"
)


def section(rows: Sequence[Row]) -> str:
    """A line for each function, and the reasons of larger guarantees."""
    lines, notes = [], []
    for function, each in groupby(rows, key=lambda row: row.function):
        fp32, fp16 = each
        name = f"`{function.name}`"
        if function.because:
            notes.append(f"- {name}: {function.because}.")
        lines.append(
            f"| {name} | {_bound(fp32)} | {fp32.worst.error:.2g} | {fp32.worst.text} "
            f"| {_bound(fp16)} | {fp16.worst.error:.2g} |"
        )
    return _HEAD + "\n".join(lines) + "\n\n" + "\n".join(notes) + "\n"


def with_section(page: str, title: str, text: str) -> str:
    """The page with the section of a device replaced or added at the end."""
    found = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.M | re.S)
    added = f"## {title}\n\n{text.rstrip()}\n\n"
    if found.search(page):
        return found.sub(lambda _: added, page).rstrip() + "\n"
    return page.rstrip() + "\n\n" + added.rstrip() + "\n"


def _bound(row: Row) -> str:
    return f"{row.guaranteed:g}" + (" (absolute)" if row.function.absolute else "")
