"""The table of docs/networks.md: read, merged with new rows and written again."""

from __future__ import annotations

import datetime
from pathlib import Path

Row = dict[str, str]

COLUMNS = ("f32 buffer", "f32 texture3d", "f16 buffer", "f16 texture3d", "device", "date")
TITLES = ("network", *COLUMNS)

INTRODUCTION = """\
# Networks

torchvision's classification networks and a transformer encoder (`tests/network/transformer.py`),
exported by PyTorch with seeded weights, imported and run for one image or sentence. The figures
are the relative error ‖y − r‖ / ‖r‖ of the logits against PyTorch's own float32 run on the CPU; an
empty cell was not measured.

    .venv/bin/python -m tests.network.survey --write docs/networks.md

keeps the table; `./dev test -L network` tests some of the networks.

"""


def read_rows(path: Path) -> dict[str, Row]:
    """The rows of a document, by network; none if there is no document."""
    if not path.exists():
        return {}
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    rows: dict[str, Row] = {}
    for line in lines[2:]:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows[name] = {c: cell for c, cell in zip(COLUMNS, cells, strict=True) if cell}
    return rows


def write_rows(path: Path, fresh: dict[str, Row]) -> None:
    """Adds rows to the document; their cells replace those of the same name and column."""
    rows = read_rows(path)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    for name, row in fresh.items():
        rows[name] = rows.get(name, {}) | row | {"date": today}
    lines = [TITLES, tuple("---" for _ in TITLES)]
    lines += [(name, *(rows[name].get(c, "") for c in COLUMNS)) for name in sorted(rows)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    path.write_text(f"{INTRODUCTION}{table}\n", encoding="utf-8")
