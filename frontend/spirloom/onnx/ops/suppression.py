"""NonMaxSuppression."""

from __future__ import annotations

import numpy as np

from spirloom.data_sizes import SIZE_OF_DATA
from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts
from spirloom.sizes import is_symbolic

_ALL = -3.4028e38  # a threshold that selects all scores


@converts("NonMaxSuppression")
def non_max_suppression(ctx: NodeContext) -> Tensor:
    """Rows (batch, class, box) of the selected boxes, in this order of batches and classes, then in
    order of scores: as many as can be selected, the valid ones first.
    """
    ctx.refuse_data_sizes(SIZE_OF_DATA)
    boxes, scores = ctx.tensor(0), ctx.tensor(1)
    if len(boxes.shape) != 3 or len(scores.shape) != 3:
        raise Unsupported("its boxes and scores must have rank 3")
    batches, classes, count = scores.shape
    if is_symbolic([*boxes.shape, *scores.shape]):
        raise Unsupported("its sizes must be known at import")
    limit = min(int(ctx.constant_scalar(2, 0)), count)
    total = batches * classes * max(limit, 0)
    threshold = ctx.constant(4)
    is_center = bool(ctx.integer("center_point_box", 0))
    iou = ctx.constant_scalar(3, 0.0)
    if not 0 <= iou <= 1:
        raise Unsupported(f"its iou_threshold {iou} is not between 0 and 1")
    if total == 0:
        return ctx.build.constant(np.zeros((0, 3), np.int32))
    ctx.check_size([total, 3], np.dtype(np.int32).itemsize)
    kept = ctx.build.emit(
        "spirloom.nms",
        boxes=boxes,
        scores=scores,
        max_output=limit,
        iou_threshold=iou,
        score_threshold=_ALL if threshold is None else float(threshold.reshape(-1)[0]),
        center_point_box=is_center,
    )
    box = ctx.build.view(kept, [total])
    row = np.arange(total, dtype=np.int32) // limit
    place = ctx.build.constant(np.stack([row // classes, row % classes], 1))
    zero = ctx.build.constant(np.zeros(1, np.int32))
    valid = ctx.build.emit("aten.ge.Tensor", a=box, b=zero)
    counted = ctx.build.emit("aten.count_nonzero.dim_IntList", x=valid, dim=(0,), keepdim=False)
    if batches * classes > 1:  # the selected boxes of all classes before the others
        missing = ctx.build.emit("aten.lt.Tensor", a=box, b=zero)
        key = ctx.build.emit("aten._to_copy", x=missing, dtype="i32")
        _, order = ctx.build.emit_all("aten.sort", x=key, dim=0, descending=False)
        box = ctx.build.emit("aten.index_select", x=box, dim=0, index=order)
        place = ctx.build.emit("aten.index_select", x=place, dim=0, index=order)
    selected = ctx.build.cat((place, ctx.build.view(box, [total, 1])), 1)
    ctx.set_data_size(selected, 0, counted)
    return selected
