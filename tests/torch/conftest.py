"""These tests run in .venv-torch (`./dev test-torch`). Other environments collect none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# Packages that modules need without importing them.
NEEDS = {
    "test_compile_networks.py": {"transformers"},
    "test_fp16_policy.py": {"transformers"},
    "test_networks.py": {"transformers", "onnxscript"},
    "test_onnx_partition_exports.py": {"onnxscript"},
    "test_real_networks.py": {"onnxscript"},
}


def _is_here(name: str) -> bool:
    return find_spec(name) is not None


@cache
def _packages(path: Path) -> frozenset[str]:
    """The packages that a module imports at its top level, directly or through this repository."""
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
# The distribution's torch is older than the oldest supported release.
collect_ignore_glob = [] if _is_here("torch") and _is_here("torch.export") else ["test_*.py"]


@pytest.fixture
def inference() -> Iterator[None]:
    """Disables gradients and resets Dynamo."""
    import torch

    torch._dynamo.reset()
    with torch.no_grad():
        yield
