"""Which modules import which: the front end lies over the generator, and neither has a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"codegen": ROOT / "codegen", "spirloom": ROOT / "frontend" / "spirloom"}


def modules_of(package: str) -> dict[str, Path]:
    """Every module of a package by its full name."""
    folder = PACKAGES[package]
    found = {}
    for path in folder.rglob("*.py"):
        parts = (package, *path.relative_to(folder).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(tree: ast.AST, known: dict[str, Path]) -> Iterator[str]:
    """The modules that a module imports anywhere but for the type checker; known ones in full."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module
        else:
            yield from imports_of(node, known)


def graph_of(package: str) -> dict[str, set[str]]:
    """What each module imports of its own package."""
    modules = modules_of(package)
    return {
        name: {x for x in imports_of(ast.parse(path.read_text()), modules) if x in modules}
        for name, path in modules.items()
    }


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other, or none."""
    left = dict(graph)
    while True:
        free = [name for name, used in left.items() if not used & left.keys() - {name}]
        if not free:
            return sorted(left)
        for name in free:
            del left[name]


def test_the_generator_knows_no_front_end() -> None:
    modules = modules_of("codegen")
    for name, path in modules.items():
        used = {x.partition(".")[0] for x in imports_of(ast.parse(path.read_text()), modules)}
        assert not used & {"spirloom", "spirloom_schema", "onnx", "flatbuffers"}, name
        assert "sys.path" not in path.read_text(), name


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_import_each_other(package: str) -> None:
    assert circle_in(graph_of(package)) == []


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str]()}
    assert circle_in(graph) == ["a", "b", "c"]
