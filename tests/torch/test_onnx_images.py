"""ONNX operators on images: Resize, RoiAlign, GridSample, pools. The oracle is ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from spirloom.ir import Array

from tests.frontend.models import random
from tests.torch.onnx_node import check


def floats(*values: float) -> Array:
    return np.array(values, np.float32)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    ("shape", "scales"),
    [
        ((1, 1, 2, 4), (1, 1, 0.6, 0.6)),
        ((1, 1, 3, 3), (1, 1, 1.5, 0.7)),
        ((1, 2, 5, 7), (1, 1, 0.3, 0.9)),
        ((1, 1, 8, 8), (1, 1, 0.5, 0.25)),
        ((1, 1, 3, 5), (1, 1, 1.0, 2.4)),
        ((3, 4, 5, 1), (1, 1, 0.5, 1.0)),
    ],
)
def test_resize_of_opset_10(
    mode: str, shape: tuple[int, ...], scales: tuple[float, ...], tmp_path: Path
) -> None:
    arrays, constants = {"x": random(*shape)}, {"s": floats(*scales)}
    check("Resize", "x s", arrays, constants, tmp_path, {"mode": mode}, opset=10)


@pytest.mark.parametrize(("shape", "scales"), [((7,), (0.6,)), ((3, 5), (0.4, 1.7)),
                                               ((2, 5, 6), (0.5, 0.7, 1.5)),
                                               ((1, 2, 3, 4, 5), (1, 1, 0.7, 2, 0.5))])  # fmt: skip
def test_resize_of_opset_10_in_other_ranks(
    shape: tuple[int, ...], scales: tuple[float, ...], tmp_path: Path
) -> None:
    arrays, constants = {"x": random(*shape)}, {"s": floats(*scales)}
    check("Resize", "x s", arrays, constants, tmp_path, {"mode": "nearest"}, opset=10)
