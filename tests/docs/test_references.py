"""Every file that a page or a style sheet of the site references is in the site."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

_IN_CSS = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_LOADED = {"src", "data", "poster", "srcset"}  # attributes whose files the browser loads by itself


class References(HTMLParser):
    """The URLs of a page: those that it links to, and those that the browser loads with it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style = tag == "style"
        for name, value in attrs:
            if not value:
                continue
            if name in _LOADED or (tag == "link" and name == "href"):
                self.loaded.add(value)
            elif name == "href":
                self.links.add(value)
            elif name == "style":
                self.loaded |= urls_of_css(value)

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.loaded |= urls_of_css(data)


def urls_of_css(text: str) -> set[str]:
    return {url or other for url, other in _IN_CSS.findall(_COMMENT.sub("", text))}


def broken(site: Path) -> Iterator[str]:
    """A line for each reference that leads outside of the site or to a file that is not there."""
    for file in sorted(site.rglob("*")):
        if file.suffix not in {".html", ".css"}:
            continue
        text = file.read_text(encoding="utf-8")
        links, loaded = set[str](), urls_of_css(text)
        if file.suffix == ".html":
            page = References()
            page.feed(text)
            links, loaded = page.links, page.loaded
        name = file.relative_to(site)
        for url in sorted(links | loaded):
            if (problem := _problem(file, url, url in loaded, site)) is not None:
                yield f"{name}: {url} {problem}"


def _problem(file: Path, url: str, loaded: bool, site: Path) -> str | None:
    parts = urlsplit(url)
    if parts.scheme == "data":
        return None
    if parts.scheme or parts.netloc:
        return "is loaded from another host" if loaded else None
    if parts.path.startswith("/"):
        return "is a path of the web server"
    if not parts.path:
        return None
    target = Path(os.path.normpath(file.parent / unquote(parts.path)))
    if not target.is_relative_to(site):
        return "is outside of the site"
    return None if target.is_file() else "does not exist"


def test_every_reference_leads_to_a_file_of_the_site(site: Path) -> None:
    assert list(broken(site)) == []


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.css", "@import url(/js/n.css);", "/js/n.css is a path of the web server"),
        ("a.css", "p { background: url('x.png') }", "x.png does not exist"),
        ("a.css", "@import 'https://h/x.css';", "https://h/x.css is loaded from another host"),
        ("a.html", '<img src="../x.png">', "../x.png is outside of the site"),
        ("a.html", '<script src="//h/x.js"></script>', "//h/x.js is loaded from another host"),
        ("a.html", '<a href="b.html#c">', "b.html#c does not exist"),
        ("a.html", "<style>p { background: url(x.svg) }</style>", "x.svg does not exist"),
    ],
)  # fmt: skip
def test_broken_references_are_found(name: str, text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(broken(tmp_path)) == [f"{name}: {problem}"]


def test_links_and_files_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="https://h/">h</a><a href="#top">t</a><img src="data:image/png;base64,">'
        '<script src="b%20c.js?digest=1"></script><svg><use href="#icon"></use></svg>',
        encoding="utf-8",
    )
    (tmp_path / "b c.js").touch()
    assert list(broken(tmp_path)) == []
