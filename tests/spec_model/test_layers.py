"""The layering of the Python packages: imports across packages, and no circular imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "codegen": ROOT / "codegen",
    "spec_model": ROOT / "spec_model",
    "spirloom": ROOT / "frontend" / "spirloom",
}
# The only modules of the front end that import the generator: commands about specs and shaders.
GENERATOR_USERS = {
    "spirloom.commands.op_show",
    "spirloom.new_op.scaffold",
    "spirloom.report.catalog",
    "spirloom.report.kernels",
    "spirloom.selective",
    "spirloom.verify.selection",
}  # fmt: skip


def modules_of(package: str) -> dict[str, Path]:
    """Every module of a package by its full name."""
    directory = PACKAGES[package]
    found = {}
    for path in directory.rglob("*.py"):
        parts = (package, *path.relative_to(directory).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(tree: ast.AST, known: dict[str, Path]) -> Iterator[str]:
    """The imported modules, except for type checking; known ones by their full names."""
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
    """The imports of each module within its own package."""
    modules = modules_of(package)
    return {
        name: {x for x in imports_of(ast.parse(path.read_text()), modules) if x in modules}
        for name, path in modules.items()
    }


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """The modules of an import cycle; empty if there is none."""
    left = dict(graph)
    while True:
        free = [name for name, used in left.items() if not used & left.keys() - {name}]
        if not free:
            return sorted(left)
        for name in free:
            del left[name]


def packages_used(path: Path) -> set[str]:
    """The top-level packages that a module imports."""
    return {name.partition(".")[0] for name in imports_of(ast.parse(path.read_text()), {})}


@pytest.mark.parametrize(
    ("package", "higher"),
    [
        ("spec_model", {"codegen", "jinja2", "spirloom", "spirloom_schema", "onnx", "flatbuffers"}),
        ("codegen", {"spirloom", "spirloom_schema", "onnx", "flatbuffers"}),
    ],
)
def test_lower_packages_do_not_import_higher_ones(package: str, higher: set[str]) -> None:
    for name, path in modules_of(package).items():
        assert not packages_used(path) & higher, name
        assert "sys.path" not in path.read_text(), name


def test_importers_import_the_spec_model_only() -> None:
    modules = modules_of("spirloom")
    users = {name for name, path in modules.items() if "codegen" in packages_used(path)}
    assert users == GENERATOR_USERS


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_import_each_other(package: str) -> None:
    assert cycle_in(graph_of(package)) == []


def test_cycles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str]()}
    assert cycle_in(graph) == ["a", "b", "c"]
