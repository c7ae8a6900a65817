"""Links to the repository on the web, if a build of the site has its address.

`./dev docs --repository https://host/owner/name`; without it, pages have no such links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.docs import operator_pages

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def add_links(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Sphinx's event html-page-context: the addresses for docs/_templates/repository.html."""
    url = app.config.repository_url.rstrip("/")
    context["repository_url"] = url
    if url and (suffix := context.get("page_source_suffix")):
        source = operator_pages.INDEX if page.startswith(f"{operator_pages.INDEX}/") else page
        path = f"docs/{source}{suffix}"
        context["page_source_url"] = f"{url}/blob/{app.config.repository_branch}/{path}"


def setup(app: Sphinx) -> None:
    """The settings, for `sphinx-build -D`."""
    app.add_config_value("repository_url", "", "html")
    app.add_config_value("repository_branch", "main", "html")
    app.connect("html-page-context", add_links)
