"""The site builds without warnings, with every page, and its search finds the field's terms."""

from __future__ import annotations

import html
import json
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tools.docs import repository

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
INCLUDED = {"_diagrams"}  # directories whose files are parts of pages

# What a reader searches for → a page that the search must find.
SEARCHES = {
    "KV cache": "how-to/kv-cache",
    "prefill": "tutorials/language-model",
    "greedy decoding": "tutorials/language-model",
    "RoPE": "reference/language-models",
    "flash-decoding": "explanation/architecture",
    "perplexity": "how-to/quantize",
    "online softmax": "explanation/numerics",
    "accumulator": "explanation/numerics",
    "split-K": "explanation/numerics",
    "GEMV": "explanation/planning-and-memory",
    "tensor cores": "explanation/planning-and-memory",
    "occupancy": "explanation/planning-and-memory",
    "coalesced": "explanation/planning-and-memory",
    "cooperative matrix": "reference/spec-language",
    "operator fusion": "explanation/import-and-passes",
    "roofline": "how-to/profile",
    "memory bandwidth": "how-to/profile",
    "selective build": "how-to/shrink-the-binary",
}


def test_every_page_is_in_the_site(site: Path) -> None:
    pages = [p for p in DOCS.rglob("*.md") if not INCLUDED & set(p.relative_to(DOCS).parts)]
    missing = [
        page.relative_to(DOCS).as_posix()
        for page in pages
        if not (site / page.relative_to(DOCS).with_suffix(".html")).exists()
    ]
    assert not missing


@pytest.mark.parametrize(
    "section", ["tutorials", "how-to", "reference", "explanation", "performance"]
)
def test_the_index_of_a_section_has_a_line_for_each_page(section: str) -> None:
    text = (DOCS / section / "index.md").read_text(encoding="utf-8")
    before, _, tree = text.partition("```{toctree}")
    pages = [line for line in tree.partition("```")[0].splitlines() if re.match(r"\w", line)]
    listed = re.findall(r"^\| \[[^\]]+\]\(([\w-]+)\.md\)", before, re.MULTILINE)
    assert listed == pages


def test_pages_link_to_the_repository_if_the_build_has_its_address() -> None:
    def context_of(page: str, url: str, **context: str) -> dict[str, Any]:
        config = SimpleNamespace(repository_url=url, repository_branch="main")
        repository.add_links(SimpleNamespace(config=config), page, "page.html", context, None)
        return context

    url, suffix = "https://h/o/n", ".md"
    assert context_of("a/b", "", page_source_suffix=suffix)["repository_url"] == ""
    for page, source in (("a/b", "a/b"), ("reference/operators/aten.relu", "reference/operators")):
        context = context_of(page, f"{url}/", page_source_suffix=suffix)
        assert context["repository_url"] == url
        assert context["page_source_url"] == f"{url}/blob/main/docs/{source}.md"
    assert "page_source_url" not in context_of("search", url)


def test_the_page_of_shader_statistics_embeds_the_tables_at_hand(site: Path) -> None:
    page = (site / "reference/shader-statistics.html").read_text(encoding="utf-8")
    (name,) = re.findall(r'<iframe[^>]+src="([^"]+)"', page)
    table = (site / "reference" / name).read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', table)
    if found is None:
        assert "./dev test-vendors" in table
    else:
        assert all(each["rows"] for each in json.loads(found[1])["families"])


@pytest.mark.parametrize("query", SEARCHES)
def test_the_search_finds(query: str, site: Path) -> None:
    """Every word of the query is in the search index of the page, and the phrase in its text."""
    found = pages_with(query, read_index(site))
    assert SEARCHES[query] in found
    assert any(phrase_in(site / f"{page}.html", query) for page in found)


@cache
def read_index(site: Path) -> Any:
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    return json.loads(text.removeprefix("Search.setIndex(").rstrip().removesuffix(")"))


def pages_with(query: str, index: Any) -> set[str]:
    """The pages that the search of the site shows for a query: those with all of its words."""
    from sphinx.search.en import SearchEnglish

    language = SearchEnglish({})
    pages = set(index["docnames"])
    for word in re.findall(r"\w+", query.lower()):
        stem = language.stem(word)
        hits: set[str] = set()
        for words in (index["terms"], index["titleterms"]):
            at = words.get(stem, [])
            hits |= {index["docnames"][i] for i in (at if isinstance(at, list) else [at])}
        pages &= hits
    return pages


def phrase_in(page: Path, phrase: str) -> bool:
    text = html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))
    words = r"[\s-]+".join(map(re.escape, re.findall(r"\w+", phrase)))
    return re.search(words, text, re.IGNORECASE) is not None
