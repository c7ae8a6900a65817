"""Assembles the page from its parts (assets/) and the data."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_ASSETS = Path(__file__).with_name("assets")
_SCRIPTS = ("common.js", "graph.js", "timeline.js", "memory.js", "tables.js", "main.js")


def page_of(data: dict[str, Any]) -> str:
    """The page of a model. It refers to no other file."""
    title = f"{data['title']} – Spirloom report"
    return _page(title, "page.html", _SCRIPTS, data, tabs=_asset("tabs.html"))


def catalog_page_of(data: dict[str, Any]) -> str:
    """The page of operators. It refers to no other file."""
    return _page(data["title"], "catalog.html", ("common.js", "catalog.js"), data)


def statistics_page_of(data: dict[str, Any]) -> str:
    """The page of shader statistics. It refers to no other file."""
    return _page(data["title"], "statistics.html", ("common.js", "statistics.js"), data)


def _page(
    title: str, body: str, scripts: Sequence[str], data: dict[str, Any], tabs: str = ""
) -> str:
    # "<" could end the element, or begin a comment.
    members = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    parts: dict[str, str] = {
        "title": html.escape(title),
        "style": _asset("style.css"),
        "tabs": tabs,
        "body": _asset(body),
        "script": "\n".join(map(_asset, scripts)),
        "data": members,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("frame.html"))


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")
