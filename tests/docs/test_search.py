"""The search of the site, in a browser: the page that a reader means is its first or second hit."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

# What a reader searches for → the pages of which one must be among the first two hits.
SEARCHES = {
    "add an operator": {"tutorials/first-operator"},
    "install": {"install"},
    "docker": {"install"},
    "Ubuntu": {"install"},
    "macOS": {"install", "faq"},
    "Windows": {"how-to/cross-compile", "install"},
    "license": {"faq", "install"},
    "eager": {"faq"},
    "fp8": {"explanation/quantization-formats"},
    "int8": {"how-to/quantize"},
    "KV cache": {"how-to/kv-cache"},
    "cooperative matrix": {"devices"},
    "selective build": {"how-to/shrink-the-binary"},
    "tensor cores": {"devices"},
    "android": {"how-to/android-and-java"},
    "openai api": {"how-to/serve"},
    "relu": {"reference/operators/aten.relu"},
    "aten.convolution": {"reference/operators/aten.convolution"},
    "scaled_dot_product_attention": {"reference/operators/aten.scaled_dot_product_attention"},
}


@pytest.mark.parametrize("query", SEARCHES)
def test_the_page_is_among_the_first_two_hits(query: str, browser: Any, address: str) -> None:
    found = hits(browser, address, query)
    assert SEARCHES[query] & {page for page, _ in found[:2]}, found[:5]


@pytest.mark.parametrize("query", ["KV cache", "int8", "add an operator", "quantize"])
def test_a_page_is_hit_once(query: str, browser: Any, address: str) -> None:
    """Objects of the APIs are listed next to their page."""
    pages = [page for page, is_object in hits(browser, address, query) if not is_object]
    assert len(pages) == len(set(pages)), pages


def hits(browser: Any, address: str, query: str) -> list[tuple[str, bool]]:
    """The hits of the search in order: the page, and whether it is an object of an API."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(f"{address}/search.html?q={quote(query)}")
    WebDriverWait(browser, 20).until(
        lambda b: b.execute_script("return document.querySelector('.search-summary')?.innerText")
    )
    found: list[list[Any]] = browser.execute_script("""
        return [...document.querySelectorAll('#search-results ul.search > li')].map(hit => {
            const link = hit.querySelector('a');
            const path = new URL(link.href).pathname.slice(1).replace('.html', '');
            return [path, link.nextElementSibling?.tagName === 'SPAN'];
        });""")
    return [(page, is_object) for page, is_object, *_ in found]
