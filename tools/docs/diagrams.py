"""Diagrams and charts: SVG in the page, which site.css colors; and the overview diagram."""

from __future__ import annotations

import re
import subprocess
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.ext.graphviz import render_dot
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxTranslator

from tools.docs.page import ROOT, write_if_changed

OVERVIEW = ROOT / "docs" / "_diagrams" / "overview.dot"
OVERVIEW_SVG = ROOT / "docs" / "_static" / "overview.svg"

_STYLE = """<style>
text { fill: #24292f; font-family: sans-serif } path, polygon, ellipse, polyline { stroke: #57606a }
.edge polygon { fill: #57606a } .node path, .node polygon { fill: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } path, polygon, ellipse, polyline { stroke: #9198a1 }
.edge polygon { fill: #9198a1 } }
</style>"""


def visit_graphviz(self: SphinxTranslator, node: nodes.Element) -> None:
    """The diagram as SVG in the page itself, so that site.css colors it."""
    _, file = render_dot(self, node["code"], node["options"], "svg")
    if file is not None:
        svg = inline_svg(Path(file).read_text(encoding="utf-8"))
        alt = self.encode(node.get("alt", "")) if node.get("alt") else "diagram"
        svg = svg.replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)
        self.body.append(f'<div class="graphviz">{svg}</div>\n')
    raise nodes.SkipNode


class Charts(SphinxTransform):  # type: ignore[misc]
    """Replaces images of a page that are SVG files by the SVG itself, before images are copied."""

    default_priority = 1

    def apply(self, **kwargs: Any) -> None:
        page = Path(self.env.doc2path(self.env.docname))
        for image in list(self.document.findall(nodes.image)):
            file = page.parent / image["uri"]
            if file.suffix == ".svg" and file.is_file():
                svg = inline_svg(file.read_text(encoding="utf-8"))
                label = escape(image.get("alt") or "chart")
                svg = svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
                raw = nodes.raw("", f'<div class="chart">{svg}</div>', format="html")
                # A block may not be in a paragraph.
                alone = isinstance(image.parent, nodes.paragraph) and len(image.parent) == 1
                (image.parent if alone else image).replace_self(raw)


def inline_svg(text: str) -> str:
    """The svg element without prolog, comments, titles and ids."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->\n?|<title>.*?</title>\n?", "", text, flags=re.DOTALL)
    return re.sub(r' id="[^"]*"', "", text)


def write_overview() -> None:
    """Writes docs/_static/overview.svg; it follows the reader's color scheme by itself."""
    done = subprocess.run(["dot", "-Tsvg", OVERVIEW], capture_output=True, text=True, check=True)
    svg = inline_svg(done.stdout)
    write_if_changed(OVERVIEW_SVG, re.sub(r"(<svg [^>]*>)", rf"\1\n{_STYLE}", svg, count=1))


if __name__ == "__main__":
    write_overview()
