"""The table of shader statistics, which docs/reference/shader-statistics.md embeds."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from spirloom.report.page import statistics_page_of
from spirloom.report.shader_statistics import find_statistics, statistics_data

from tools.docs.page import write_if_changed

NAME = "shader-statistics-table.html"


def write_table(app: Sphinx, exception: Exception | None) -> None:
    """Sphinx's event build-finished: writes the table next to the page that embeds it."""
    if exception is None and app.builder.format == "html":
        text = statistics_page_of(statistics_data(find_statistics()))
        write_if_changed(Path(app.outdir) / "reference" / NAME, text)
