"""What the site's search finds: the keywords of pages, as entries of Sphinx's index.

The front matter of a page lists the terms by which readers search for it, if its title does not
have them:

    ---
    keywords: fp8, int4
    ---

docs/search_scorer.js lists each page once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


class Keywords(SphinxTransform):  # type: ignore[misc]
    """Adds the keywords of a page to the index, before Sphinx collects its entries (850)."""

    default_priority = 800

    def apply(self, **kwargs: Any) -> None:
        entries = [
            ("single", keyword, "", "main", None)
            for text in _keywords(self.document)
            for keyword in map(str.strip, text.split(","))
        ]
        if entries:
            self.document += addnodes.index(entries=entries)


def _keywords(document: nodes.document) -> Iterator[str]:
    for field in document.findall(nodes.field):
        if isinstance(field.parent, nodes.docinfo) and field[0].astext() == "keywords":
            yield field[1].astext()
