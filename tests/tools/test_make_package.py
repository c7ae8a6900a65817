"""The operators that a wheel stores are the same bytes in every build."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_stored_operators_are_reproducible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "cmake"))
    make_package = import_module("make_package")

    package = tmp_path / "spirloom"
    for directory in ("codegen", "spec_model"):
        make_package.copy_package(ROOT / directory, package / f"_{directory}")
    for directory, pattern in make_package.DATA:
        make_package.copy_data(directory, pattern, package)
    for path in (package / "op_specs").rglob("*.yaml"):
        if path.parent.name != "pooling":  # some operators, which are read faster
            path.unlink()
    (package / "__init__.py").touch()
    stored = []
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        make_package.store_operators(tmp_path)
        stored.append((package / "ops.pickle").read_bytes())
    assert stored[0] == stored[1]
