"""The table of shader statistics, which docs/reference/shader-statistics.md embeds."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from spirloom.report.page import statistics_page_of
from spirloom.report.shader_statistics import find_statistics, statistics_data

from tools.docs.page import write_if_changed

NAME = "shader-statistics-table.html"


_NONE = """<!DOCTYPE html>
<meta charset="utf-8">
<title>Shader statistics</title>
<p>This build of the pages has no statistics. <code>./dev test-vendors</code> makes them.</p>
"""


def write_table(app: Sphinx, exception: Exception | None) -> None:
    """Sphinx's event build-finished: writes the table next to the page that embeds it."""
    if exception is None and app.builder.format == "html":
        files = find_statistics()
        text = statistics_page_of(statistics_data(files)) if files else _NONE
        write_if_changed(Path(app.outdir) / "reference" / NAME, text)
