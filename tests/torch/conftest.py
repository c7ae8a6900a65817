"""These tests run in .venv-torch (`./dev test-torch`); elsewhere there is nothing to collect."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# What modules need that they do not import themselves.
NEEDS = {
    "test_compile_networks.py": {"transformers"},
    "test_networks.py": {"transformers", "onnxscript"},
    "test_parts_of_exports.py": {"onnxscript"},
}


def _is_here(name: str) -> bool:
    return find_spec(name) is not None


@cache
def _packages(path: Path) -> frozenset[str]:
    """What a module imports first of all, itself or by other modules of this repository."""
    names: list[str] = []
    for statement in ast.parse(path.read_bytes()).body:
        match statement:
            case ast.Import(names=imported):
                names += (each.name for each in imported)
            case ast.ImportFrom(module=str(module), level=0):
                names.append(module)
    found: set[str] = set()
    for name in names:
        own = ROOT.joinpath(*name.split(".")).with_suffix(".py")
        found |= _packages(own) if own.is_file() else {name.partition(".")[0]}
    return frozenset(found - {"examples", "tests"})


collect_ignore = [
    path.name
    for path in HERE.glob("test_*.py")
    if not all(map(_is_here, _packages(path) | NEEDS.get(path.name, set())))
]
# The distribution's torch is older than the oldest that is supported.
collect_ignore_glob = [] if _is_here("torch") and _is_here("torch.export") else ["test_*.py"]


@pytest.fixture
def inference() -> Iterator[None]:
    """Without gradients, and without what Dynamo remembers of other tests."""
    import torch

    torch._dynamo.reset()
    with torch.no_grad():
        yield
