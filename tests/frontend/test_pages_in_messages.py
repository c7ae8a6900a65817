"""Messages and help texts name pages of the documentation by title: a wheel has no docs/."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CPP = ("tools/spirloom-run", "tools/spirloom-ops", "llm", "runtime", "integrations")
PAGE = re.compile(r"\bpage '([^']+)'")


def texts() -> Iterator[tuple[str, str]]:
    """The string literals of the package and the programs, each with its file; comments of C++ are
    not among them, docstrings are."""
    for path in sorted((ROOT / "frontend").rglob("*")):
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield str(path.relative_to(ROOT)), " ".join(node.value.split())
        elif path.suffix == ".in":
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    for path in sorted(path for each in CPP for path in (ROOT / each).rglob("*.cpp")):
        code = re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for literal in re.findall(r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*', code):
            yield str(path.relative_to(ROOT)), re.sub(r'"\s*"', "", literal)


@pytest.fixture(scope="module")
def titles() -> set[str]:
    pages = (ROOT / "docs").rglob("*.md")
    return {
        line[2:].strip()
        for page in pages
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("# ")
    }


def test_no_text_names_a_file_of_the_documentation() -> None:
    found = [(name, text) for name, text in texts() if re.search(r"\bdocs/\S*\.(md|rst)", text)]
    assert not found


def test_the_pages_exist(titles: set[str]) -> None:
    named = [(name, page) for name, text in texts() for page in PAGE.findall(text)]
    assert {page for _, page in named} >= {"Use fp16", "File formats", "Add an operator"}
    assert not [(name, page) for name, page in named if page not in titles]
