"""Einsum compared with NumPy, and the operators that it becomes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto
from spirloom.errors import ImportFailure
from spirloom.ir import Array, Graph
from spirloom.op_library import OpLibrary

from tests.frontend.models import compute, imported, model, node, ops, random

# Equation, and the shapes of its operands.
EQUATIONS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij->ji", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ij->j", [(2, 3)]),
    ("ii", [(4, 4)]),
    ("ii->i", [(4, 4)]),
    ("...ii->...i", [(2, 3, 4, 4)]),
    ("iji->ji", [(3, 2, 3)]),
    ("iii->i", [(3, 3, 3)]),
    ("iijj->ji", [(2, 2, 3, 3)]),
    ("ba", [(2, 3)]),
    ("i,i", [(5,), (5,)]),
    ("i,j->ji", [(2,), (3,)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ij,kj->ki", [(2, 3), (4, 3)]),
    (" bij , bjk -> bik ", [(2, 3, 4), (2, 4, 5)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("bhqk,bkhd->bqhd", [(2, 3, 4, 5), (2, 5, 3, 6)]),
    ("abc,cbd,da->c", [(2, 3, 4), (4, 3, 5), (5, 2)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]),
    ("ij,ij->i", [(2, 3), (2, 3)]),
    ("ij,ik->", [(2, 3), (2, 4)]),
    ("i,i,i->i", [(3,), (3,), (3,)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (5, 1, 4, 6)]),
    ("...i,...i", [(2, 3), (3,)]),
    ("...,...", [(2, 3), (3,)]),
    ("i...,i...->...", [(2, 3), (2, 1)]),
    ("...a->a...", [(2, 3, 4)]),
    ("ij,jk->ik", [(2, 1), (3, 4)]),
    ("ij,ij->", [(1, 3), (2, 3)]),
    ("ii,ij->j", [(3, 3), (3, 2)]),
    (",i->i", [(), (3,)]),
    ("ij,jk->ik", [(2, 0), (0, 3)]),
]


def sum_of(
    equation: str, operands: list[Array], library: OpLibrary, folder: Path, constants: int = 0
) -> Graph:
    """The graph of an Einsum whose last operands are constants."""
    names = [f"x{i}" for i in range(len(operands))]
    inputs = len(names) - constants
    made = model(
        [node("Einsum", " ".join(names), equation=equation)],
        {name: x.shape for name, x in zip(names[:inputs], operands, strict=False)},
        dict(zip(names[inputs:], operands[inputs:], strict=True)),
    )
    return imported(made, library, folder)


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_einsum(
    equation: str, shapes: list[tuple[int, ...]], library: OpLibrary, tmp_path: Path
) -> None:
    operands = [random(*shape, seed=i) for i, shape in enumerate(shapes)]
    expected = np.einsum(equation, *(x.astype(np.float64) for x in operands))
    for constants in range(len(operands)):
        graph = sum_of(equation, operands, library, tmp_path, constants)
        y = compute(graph, *operands[: len(operands) - constants])
        assert y.shape == expected.shape
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_integers(library: OpLibrary, tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    layer = node("Einsum", "x x", equation="ij,kj->ik")
    graph = imported(model([layer], {"x": (2, 3)}, dtype=TensorProto.INT32), library, tmp_path)
    np.testing.assert_array_equal(compute(graph, x), x @ x.T)


@pytest.mark.parametrize(
    ("equation", "shapes", "constants", "expected"),
    [
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)], 0, ["aten.bmm"]),
        ("bsi,oi->bso", [(2, 3, 4), (5, 4)], 1, ["aten.linear"]),
        ("bsd,dhk->bshk", [(2, 3, 4), (4, 5, 6)], 1, ["aten.linear", "aten.view"]),
        ("ij,ij->ij", [(2, 3), (2, 3)], 0, ["aten.mul.Tensor"]),
        ("ij->ji", [(2, 3)], 0, ["aten.permute"]),
        ("bij->bj", [(2, 3, 4)], 0, ["aten.sum.dim_IntList"]),
    ],
)
def test_few_operators(
    equation: str,
    shapes: list[tuple[int, ...]],
    constants: int,
    expected: list[str],
    library: OpLibrary,
    tmp_path: Path,
) -> None:
    operands = [random(*shape) for shape in shapes]
    assert ops(sum_of(equation, operands, library, tmp_path, constants)) == expected


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("i.j->i", [(2, 3)], "its equation 'i.j->i' is malformed"),
        ("ij,jk", [(2, 3)], "is for 2 operands, not 1"),
        ("ijk", [(2, 3)], "'ijk' of its equation 'ijk' does not fit rank 2"),
        ("ij->ik", [(2, 3)], "its equation 'ij->ik' has no such output"),
        ("ij->ii", [(2, 3)], "its equation 'ij->ii' has no such output"),
        ("ij,jk", [(2, 3), (4, 5)], "its dimension 'j' is both 3 and 4"),
        ("ii", [(2, 3)], "its dimension 'i' is both 2 and 3"),
    ],
)
def test_errors(
    equation: str,
    shapes: list[tuple[int, ...]],
    message: str,
    library: OpLibrary,
    tmp_path: Path,
) -> None:
    with pytest.raises(ImportFailure) as error:
        sum_of(equation, [random(*shape) for shape in shapes], library, tmp_path)
    assert message in str(error.value)
