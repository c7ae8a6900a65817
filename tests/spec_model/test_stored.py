"""Stored operators equal those of the specs, except tests and references."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spec_model import DType, Library, Op, Storage, TensorType, load_library, stored

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def library() -> Library:
    return load_library([ROOT / "op_specs"], [ROOT / "templates/glsl"])


@pytest.fixture(scope="module")
def path(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("stored") / "ops.pickle"
    stored.store(library.ops, made)
    return made


@pytest.fixture(scope="module")
def ops(path: Path) -> dict[str, Op]:
    return stored.load(path)


def test_all_operators_are_restored(library: Library, ops: dict[str, Op]) -> None:
    for name, op in library.ops.items():
        again = replace(ops[name], tests=op.tests, reference=op.reference)
        assert again == op, name
    assert list(ops) == list(library.ops)


def test_they_compute(ops: dict[str, Op]) -> None:
    x = TensorType((2, 3), DType.F32)
    assert ops["aten.relu"].infer({"x": x}) == [x]
    variant = ops["aten.relu"].select({"x": x}, Storage.BUFFER)
    assert variant is not None
    assert variant.id == "relu_f32_buffer"


def test_no_path_of_the_build_is_in_it(path: Path) -> None:
    assert str(ROOT).encode() not in path.read_bytes()
