"""One page for each operator, from the sections of docs/reference/operators.md.

The repository has one file, in which a change of specs shows its effects. The site has an index
with a line for each operator, and pages that the search finds. They are written to
docs/reference/operators/, which Git ignores: Sphinx reads only pages in its source directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tools.docs.page import ROOT, table, write_if_changed

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SOURCE = ROOT / "docs/reference/operators.md"
INDEX = "reference/operators"  # the document of the index; pages are below it
_SHOWN = ("Dtypes", "Variants")  # entries of an operator in the index
_SECTION = re.compile(r"^### `(.+)`\n\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Operator:
    """A section of the page of operators."""

    name: str
    family: str
    text: str  # Markdown: a description and a list

    @property
    def summary(self) -> str:
        """The first sentence of the description."""
        description = self.text.partition("\n")[0]
        is_code = description.startswith("`` ")
        return description if is_code else re.split(r"(?<=\.) ", description)[0]

    def entry(self, name: str) -> str:
        """An entry of the list, such as 'Dtypes'."""
        found = re.search(rf"^- {name}: (.*)$", self.text, re.MULTILINE)
        return found[1] if found else ""


def read_operators(text: str) -> tuple[str, list[Operator], str]:
    """The introduction, the operators, and the section of templates of operators.md."""
    body, mark, templates = text.partition("\n## Templates\n")
    introduction, *families = re.split(r"^## (.+)\n\n", body, flags=re.MULTILINE)
    # Operators without a family are at the end of the introduction.
    introduction, *without = _SECTION.split(introduction)
    operators = list(_sections("", without))
    for family, sections in zip(families[::2], families[1::2], strict=True):
        operators += _sections(family, _SECTION.split(sections)[1:])
    return introduction, operators, mark + templates


def _sections(family: str, parts: Sequence[str]) -> Iterator[Operator]:
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        yield Operator(name, family, text.strip() + "\n")


def index_text(text: str) -> str:
    """The index: a table of each family, with a line for each operator."""
    introduction, operators, templates = read_operators(text)
    parts = ["---\nkeywords: supported operators, operator list\n---\n", introduction]
    for family, members in groupby(operators, key=lambda op: op.family):
        if family:
            parts.append(f"## {family}\n")
        rows = (
            [f"[`{op.name}`](operators/{op.name}.md)", op.summary, *map(op.entry, _SHOWN)]
            for op in members
        )
        parts.append(table(["Operator", "Result", *_SHOWN], rows))
    return "\n".join(parts) + templates


def page_text(op: Operator, names: frozenset[str]) -> str:
    """The page of an operator. The search finds it by its name with and without its namespace."""

    def linked(found: re.Match[str]) -> str:
        name = found[1]
        return f"[`{name}`]({name}.md)" if name in names and name != op.name else found[0]

    _, *parts = op.name.split(".")
    keywords = dict.fromkeys((op.name, ".".join(parts), *parts[:1]))
    text = re.sub(r"(?<!`)`([\w.]+)`(?!`)", linked, op.text.replace("](../../", "](../../../"))
    up = f"[Operators](../operators.md) › {op.family}\n\n" if op.family else ""
    return (
        f"---\norphan: true\nkeywords: {', '.join(filter(None, keywords))}\n---\n\n"
        f"# `{op.name}`\n\n{up}{text}"
    )


def write_pages(app: Sphinx) -> None:
    """Sphinx's event builder-inited: writes the pages and removes those of other operators."""
    _, operators, _ = read_operators(SOURCE.read_text(encoding="utf-8"))
    names = frozenset(op.name for op in operators)
    folder = SOURCE.with_suffix("")
    for op in operators:
        write_if_changed(folder / f"{op.name}.md", page_text(op, names))
    for file in folder.glob("*.md"):
        if file.stem not in names:
            file.unlink()


def replace_source(app: Sphinx, document: str, source: list[str]) -> None:
    """Sphinx's event source-read: the index instead of the file of the repository."""
    if document == INDEX:
        source[0] = index_text(source[0])


def open_sidebar(app: Sphinx, document: str, *event: Any) -> None:
    """Sphinx's event html-page-context: the sidebar of an operator is that of the index."""
    context = event[1]
    if document.startswith(f"{INDEX}/"):
        context["toctree"] = lambda **options: _sidebar(app.builder, **options)


@cache
def _sidebar(builder: Any, **options: Any) -> str:
    html = builder._get_local_toctree(INDEX, **options)
    html = html.replace('href="#"', 'href="operators.html"')
    return re.sub(r'href="(?![a-z]+:)', 'href="../', html)
