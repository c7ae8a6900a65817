"""The reference of a new operator: a function that computes what the copied operator does, with the
definitions that it needs from the modules of the copied operator.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from spec_model.reference import Reference

_DEFINED = frozenset({"np", "Any", "NDArray", "Array", "annotations"})  # by reference.py.in
_FUNCTION = re.compile(r"([A-Za-z_]\w*)\.([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Copied:
    """The result of the copied reference, as an expression, and what it needs."""

    imports: str
    definitions: str
    result: str


def copied_reference(reference: Reference, name: str) -> Copied:
    """`name`: of the new function. Copied functions with its name, or that of an argument, are
    renamed.
    """
    text = " ".join(reference.where.text.split())
    modules = {file.stem: file for file in reference.files}
    function = _FUNCTION.fullmatch(text)
    if function is not None and function[1] in modules:
        text = f"{text}({', '.join(reference.args)})"
    collector = _Collector()
    result = collector.without_modules(text, modules)
    definitions = "".join(f"{each}\n\n\n" for each in collector.definitions.values())
    for taken in {name, *reference.args} & collector.definitions.keys():
        call = re.compile(rf"(?<![.\w]){taken}(?=\()")
        definitions, result = (call.sub(f"{taken}_", code) for code in (definitions, result))
    imports = "".join(f"{line}\n" for line in sorted(collector.imports))
    return Copied(imports, definitions, result)


@dataclass(slots=True)
class _Collector:
    """Definitions by name, each after those that it needs."""

    definitions: dict[str, str] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    _visited: set[tuple[Path, str]] = field(default_factory=set)

    def without_modules(self, text: str, modules: dict[str, Path]) -> str:
        """The text with `f` in place of `module.f`. Collects the definitions."""
        for name, file in modules.items():
            for match in re.finditer(rf"(?<![.\w]){name}\.(\w+)", text):
                self._collect(file, match[1])
            text = re.sub(rf"(?<![.\w]){name}\.(?=\w)", "", text)
        return text

    def _collect(self, file: Path, name: str) -> None:
        if (file, name) in self._visited or name in _DEFINED:
            return
        self._visited.add((file, name))
        source = file.read_text(encoding="utf-8")
        node = dict(_defined_in(ast.parse(source))).get(name)
        if isinstance(node, ast.ImportFrom) and node.level:
            self._collect(_module_of(file, node, ""), name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self.imports.add(_import_of(node, name))
        elif node is not None:
            self._define(file, name, node, source)

    def _define(self, file: Path, name: str, node: ast.stmt, source: str) -> None:
        text = _source_of(node, source)
        top = dict(_defined_in(ast.parse(source)))
        modules = {}
        for used in sorted({n.id for n in ast.walk(node) if isinstance(n, ast.Name)}):
            given = top.get(used)
            if isinstance(given, ast.ImportFrom) and given.level:
                module = _module_of(file, given, used)
                if module.is_file():
                    modules[used] = module
                    continue
            self._collect(file, used)
        self.definitions[name] = self.without_modules(text, modules)


def _defined_in(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """The names that a module defines or imports."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name, node) for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (n for target in targets for n in ast.walk(target))
            yield from ((n.id, node) for n in names if isinstance(n, ast.Name))


def _module_of(file: Path, node: ast.ImportFrom, name: str) -> Path:
    """The file of a relative import, or of the module `name` that it imports."""
    directory = file.parents[node.level - 1]
    parts = [*(node.module or "").split("."), name]
    return directory.joinpath(*filter(None, parts)).with_suffix(".py")


def _import_of(node: ast.Import | ast.ImportFrom, name: str) -> str:
    alias = next(a for a in node.names if (a.asname or a.name) == name)
    one = ast.Import([alias])
    if isinstance(node, ast.ImportFrom):
        return ast.unparse(ast.ImportFrom(node.module, [alias], 0))
    return ast.unparse(one)


def _source_of(node: ast.stmt, source: str) -> str:
    """The text of a definition with its decorators and the comment before it."""
    lines = source.splitlines()
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1
    while first and lines[first - 1].startswith("#"):
        first -= 1
    return "\n".join(lines[first : node.end_lineno])
