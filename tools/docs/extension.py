"""The Sphinx extension of the site: writes the generated pages and resolves links to the sources.

A link of a page to a file of the repository outside docs/ becomes a download; one to a directory
becomes its path, as code. The build writes the generated pages to build/docs/generated, where the
pages of docs/reference include them.
"""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.ext.graphviz import graphviz
from sphinx.transforms import SphinxTransform

from tools.docs import (
    cmake_options,
    docstrings,
    environment,
    headers,
    messages,
    operator_pages,
    programs,
    repository,
    search,
    shader_statistics,
    template_library,
    theme,
)
from tools.docs.diagrams import Charts, visit_graphviz
from tools.docs.page import ROOT

OUT = ROOT / "build" / "docs"
GENERATED = OUT / "generated"


def generate(app: Sphinx) -> None:
    """Writes every generated page and Doxygen's XML."""
    for module in (cmake_options, environment, headers, messages, programs, template_library):
        module.write_pages(GENERATED)
    for name, files in (("c", headers.C_HEADERS), ("cpp", headers.CPP_HEADERS)):
        headers.run_doxygen(files, OUT / "doxygen" / name, name == "cpp")


class RepositoryLinks(SphinxTransform):  # type: ignore[misc]
    """Links to files and directories of the repository that are no pages of the site."""

    default_priority = 1

    def apply(self, **kwargs: Any) -> None:
        page = Path(self.env.doc2path(self.env.docname)).relative_to(ROOT)
        found = [
            *self.document.findall(addnodes.pending_xref),
            *self.document.findall(addnodes.download_reference),
        ]
        for node in found:
            target = node["reftarget"]
            if node.get("refdomain") not in {None, "doc"} or "://" in target:
                continue
            self._resolve(node, page, target)

    def _resolve(self, node: nodes.Element, page: Path, target: str) -> None:
        file = target.partition("#")[0]
        if isinstance(node, addnodes.download_reference) or node.get("refdomain") == "doc":
            # Newer versions of Sphinx name documents outside docs/ by their absolute path.
            own = file.removeprefix(f"{ROOT}/")
            path = posixpath.normpath(posixpath.join("docs", file.removeprefix("/")))
            path = path if own == file else own
        else:
            path = posixpath.normpath(posixpath.join(page.parent.as_posix(), file))
        for name in (path, f"{path}.md"):
            if (ROOT / name).is_file() and not name.startswith("docs/"):
                download = addnodes.download_reference("", "", *node.children)
                download["reftarget"] = f"/../{name}"
                download["refdoc"] = self.env.docname
                node.replace_self(download)
                return
        if file and (ROOT / path).is_dir():
            node.replace_self(nodes.literal(path, path))


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("builder-inited", generate)
    app.connect("builder-inited", operator_pages.write_pages)
    app.connect("source-read", operator_pages.replace_source)
    # Furo makes the sidebar in its own handler, of priority 500.
    app.connect("html-page-context", operator_pages.open_sidebar, priority=400)
    app.connect("build-finished", theme.complete)
    app.connect("build-finished", shader_statistics.write_table)
    app.connect("autodoc-process-docstring", docstrings.process)
    repository.setup(app)
    app.add_transform(RepositoryLinks)
    app.add_transform(search.Keywords)
    app.add_transform(Charts)
    app.setup_extension("sphinx.ext.graphviz")
    app.add_node(graphviz, override=True, html=(visit_graphviz, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
