"""Stored operators equal those of the specs, except tests; their references compute the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
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
    return stored.load(path, ROOT / "op_specs")


def test_all_operators_are_restored(library: Library, ops: dict[str, Op]) -> None:
    for name, op in library.ops.items():
        assert replace(ops[name], tests=op.tests) == op, name
    assert list(ops) == list(library.ops)


def test_they_compute(ops: dict[str, Op]) -> None:
    x = TensorType((2, 3), DType.F32)
    assert ops["aten.relu"].infer({"x": x}) == [x]
    variant = ops["aten.relu"].select({"x": x}, Storage.BUFFER)
    assert variant is not None
    assert variant.id == "relu_f32_buffer"


def test_their_references_compute(library: Library, ops: dict[str, Op]) -> None:
    """An expression, and a function of a module that imports one of another family."""
    x, weight = np.array([[1.0, -2.0, 3.0]]), np.array([[0.5, 1.0, 2.0], [-1.0, 0.0, 1.0]])
    assert ops["aten.relu"].reference({"x": x})[0].tolist() == [[1.0, 0.0, 3.0]]
    op = ops["aten.linear"]
    types = {"x": TensorType(x.shape, DType.F32), "weight": TensorType(weight.shape, DType.F32)}
    args: dict[str, object] = {**op.complete(types), "x": x, "weight": weight}
    (found,) = op.reference(args)
    np.testing.assert_array_equal(found, x @ weight.T)
    assert op.reference.directory.path == ROOT / "op_specs"


def test_no_path_of_the_build_is_in_it(path: Path) -> None:
    assert str(ROOT).encode() not in path.read_bytes()


def test_paths_are_of_any_system(path: Path) -> None:
    """A wheel for Windows is built on Linux, whose kind of path Windows cannot load."""
    assert b"PosixPath" not in path.read_bytes()
