"""The site builds without warnings, with every page, and its search finds the field's terms."""

from __future__ import annotations

import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

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
