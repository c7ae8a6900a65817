"""Gather, scatter and pooling indices, in addition to ONNX's suite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto
from spirloom.op_library import OpLibrary

from tests.frontend.models import compute, imported, model, node, random


@pytest.mark.parametrize(("batch", "count"), [(0, 4), (1, 2), (2, 1)])
def test_gather_nd(library: OpLibrary, tmp_path: Path, batch: int, count: int) -> None:
    x = random(2, 3, 4, 5)
    sizes = x.shape[batch : batch + count]
    generator = np.random.default_rng(1)
    points = [*x.shape[:batch], 6]
    indices = np.stack([generator.integers(-n, n, points) for n in sizes], axis=-1)
    made = model([node("GatherND", "x i", batch_dims=batch)], {"x": x.shape}, {"i": indices})
    y = compute(imported(made, library, tmp_path), x)
    for point in np.ndindex(*points):
        expected = x[(*point[:batch], *indices[point])]
        np.testing.assert_array_equal(y[point], expected)


def test_reverse_sequence_with_computed_lengths(library: OpLibrary, tmp_path: Path) -> None:
    x, lengths = random(3, 4, 2), np.array([4, 1, 3], np.int32)
    made = model(
        [node("ReverseSequence", "x n", batch_axis=0, time_axis=1)],
        {"x": x.shape, "n": lengths.shape},
    )
    made.graph.input[1].type.tensor_type.elem_type = TensorProto.INT64
    y = compute(imported(made, library, tmp_path), x, lengths)
    for row, length in enumerate(lengths):
        np.testing.assert_array_equal(y[row, :length], x[row, :length][::-1])
        np.testing.assert_array_equal(y[row, length:], x[row, length:])


def test_hardmax_over_several_dimensions(library: OpLibrary, tmp_path: Path) -> None:
    x = random(2, 3, 4)
    made = model([node("Hardmax", "x", axis=1)], {"x": x.shape}, opset=11)
    y = compute(imported(made, library, tmp_path), x)
    assert y.shape == x.shape
    np.testing.assert_array_equal(y.reshape(2, 12).argmax(1), x.reshape(2, 12).argmax(1))
    np.testing.assert_array_equal(y.sum((1, 2)), [1, 1])


def test_column_major_max_pool_indices(library: OpLibrary, tmp_path: Path) -> None:
    x = random(1, 2, 4, 6)
    pool = node("MaxPool", "x", "y i", kernel_shape=[2, 2], strides=[2, 2], storage_order=1)
    made = model([pool], {"x": x.shape}, outputs=("i", "y"))
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    indices = compute(imported(made, library, tmp_path), x)
    column_major = x.transpose(0, 1, 3, 2).reshape(-1)
    windows = x.reshape(1, 2, 2, 2, 3, 2).max((3, 5))
    np.testing.assert_array_equal(column_major[indices], windows)
