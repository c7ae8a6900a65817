"""Bounding boxes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def nms(
    boxes: Array,
    scores: Array,
    max_output: int,
    iou_threshold: float,
    score_threshold: float,
    center_point_box: bool,
) -> Array:
    """Indices of the selected boxes of each batch and class; -1 where fewer are selected."""
    y = np.full((*scores.shape[:2], max_output), -1)
    for batch, label in np.ndindex(*scores.shape[:2]):
        own, values = _corners(boxes[batch], center_point_box), scores[batch, label]
        selected: list[int] = []
        for i in np.argsort(-values, kind="stable"):
            above = values[i] > score_threshold or score_threshold < -3.4e38
            if len(selected) == max_output or not above or np.isnan(values[i]):
                continue
            if not any(_iou(own[i], own[j]) > iou_threshold for j in selected):
                selected.append(int(i))
        y[batch, label, : len(selected)] = selected
    return y


def _corners(boxes: Array, center_point_box: bool) -> Array:
    """[n, 2 corners, 2 coordinates], the lower corner first."""
    if center_point_box:
        half = boxes[:, 2:] / np.float32(2)
        return np.stack([boxes[:, :2] - half, boxes[:, :2] + half], 1)
    return np.sort(boxes.reshape(-1, 2, 2), axis=1)


def _iou(a: Array, b: Array) -> float:
    """Intersection over union; 0 for boxes without an area."""
    sides = np.minimum(a[1], b[1]) - np.maximum(a[0], b[0])
    if (sides <= 0).any():
        return 0.0
    first, second, common = (np.prod(s) for s in (a[1] - a[0], b[1] - b[0], sides))
    if first <= 0 or second <= 0:
        return 0.0
    return float(common / (first + second - common))
