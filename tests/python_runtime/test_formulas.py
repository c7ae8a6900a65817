"""Sizes and numbers of graph files that depend on sizes: the runtime's values are Python's."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pytest
import spirloom
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.number_expr import from_expr, number_of, stored
from spirloom.sizes import graph_int, inferred_size

from spec_model.symbolic import maximum, minimum, sym
from tests.formulas import POINTS, M, N, integer, number
from tests.sample import runs_all, seed

ROUNDS, OUTPUTS, LARGEST = 40 if runs_all() else 4, 40, 30
Function = Callable[[Mapping[str, int]], float]


def clamped(size: Function, point: Mapping[str, int]) -> float:
    return min(max(size(point), 1), LARGEST)


def fillings(choose: random.Random) -> list[tuple[Function, Function, Node]]:
    """Tensors full of a random number, of a random size: size and number by Python."""
    found: list[tuple[Function, Function, Node]] = []
    while len(found) < OUTPUTS:
        size, formula = integer(choose, 4)
        shape = graph_int(minimum(maximum(formula, 1), LARGEST))
        value, filling = number(choose, choose.randint(1, 4))
        number_arg = stored(from_expr(number_of(filling)))
        values = [float(value(point)) for point in POINTS]
        if inferred_size(shape) or number_arg is None:
            continue
        if any(v != v or abs(v) > 1e30 for v in values):
            continue
        y = Tensor(f"y{len(found)}", DType.F32, (shape,))
        node = Node("aten.full", ((shape,), number_arg, "f32"), (y,), y.name)
        found.append((partial(clamped, size), value, node))
    return found


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_sizes_and_numbers(runtime: spirloom.Runtime, turn: int) -> None:
    choose = random.Random(1000 * seed() + turn)
    x = Tensor("x", DType.F32, tuple(graph_int(sym(symbol)) for symbol in (N, M)))
    found = fillings(choose)
    nodes = [node for *_, node in found]
    graph = Graph([x], [node.outputs[0] for node in nodes], nodes, symbols=(N, M))
    model = runtime.load(graph_file.to_bytes(graph))
    for point in choose.sample(POINTS, len(POINTS)):
        results = model(np.zeros((point["n"], point["m"]), np.float32))
        for (size, value, node), result in zip(found, results, strict=True):
            place = f"{node.outputs[0].shape[0]} of {node.args[1]} at {point}"
            assert result.shape == (size(point),), place
            right = np.float32(value(point))
            assert math.isclose(result[0], right, rel_tol=2e-6, abs_tol=1e-6), place
