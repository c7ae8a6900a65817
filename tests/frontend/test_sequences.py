"""Sequences are resolved at import: only their tensors remain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto
from spirloom.errors import ImportFailure
from spirloom.ir import Array, Graph
from spirloom.op_library import OpLibrary

from tests.frontend.models import compute, imported, model, node, ops, random


def run(
    library: OpLibrary,
    folder: Path,
    nodes: Sequence[NodeProto],
    constants: Mapping[str, Array] | None = None,
) -> Graph:
    return imported(model(nodes, {"x": (5, 3)}, constants), library, folder)


def ints(*values: int) -> Array:
    return np.array(values[0] if len(values) == 1 else values, dtype=np.int64)


def test_split_and_stack(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        node("SplitToSequence", "x", "s", axis=0, keepdims=0),
        node("ConcatFromSequence", "s", axis=1, new_axis=1),
    ]
    x = random(5, 3)
    np.testing.assert_array_equal(compute(run(library, tmp_path, nodes), x), x.T)


@pytest.mark.parametrize(
    ("sizes", "index", "expected"),
    [(ints(2), ints(-1), slice(4, 5)), (ints(1, 3, 1), ints(1), slice(1, 4))],
)
def test_sequence_at(
    library: OpLibrary, tmp_path: Path, sizes: Array, index: Array, expected: slice
) -> None:
    nodes = [node("SplitToSequence", "x sizes", "s"), node("SequenceAt", "s index")]
    graph = run(library, tmp_path, nodes, {"sizes": sizes, "index": index})
    x = random(5, 3)
    np.testing.assert_array_equal(compute(graph, x), x[expected])


def test_insert_erase_and_length(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        node("Neg", "x", "n"),
        node("Abs", "x", "a"),
        node("SequenceConstruct", "x n", "s"),
        node("SequenceInsert", "s a first", "t"),
        node("Identity", "t", "same"),
        node("SequenceErase", "same", "u"),
        node("SequenceLength", "u", "count"),
        node("ConcatFromSequence", "u", "joined", axis=0),
        node("Unsqueeze", "count axes", "shape"),
        node("Slice", "joined axes shape"),
    ]
    graph = run(library, tmp_path, nodes, {"first": ints(0), "axes": np.array([0], np.int64)})
    x = random(5, 3)
    np.testing.assert_array_equal(compute(graph, x), np.abs(x)[:2])
    assert "aten.neg" not in ops(graph)


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([node("SplitToSequence", "x", "s"), node("Relu", "s")], "its input is a sequence"),
        ([node("SplitToSequence", "x two", "y")], "it is a sequence; only tensors"),
        (
            [node("SplitToSequence", "x two", "s"), node("SequenceAt", "s nine")],
            "index 9 is out of",
        ),
        ([node("SplitToSequence", "x pair", "y")], r"its split sizes \[2, 2\] do not add up to 5"),
        (
            [
                node("SplitToSequence", "x two", "s"),
                node("ConcatFromSequence", "s", new_axis=1, axis=0),
            ],
            "it stacks values of different shapes",
        ),
    ],
)
def test_unsupported_sequences(
    library: OpLibrary, tmp_path: Path, nodes: Sequence[NodeProto], reason: str
) -> None:
    constants = {"two": ints(2), "nine": ints(9), "pair": ints(2, 2)}
    with pytest.raises(ImportFailure, match=reason):
        run(library, tmp_path, nodes, constants)
