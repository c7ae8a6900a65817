"""Evaluates ONNX nodes with constant inputs in their ONNX types, such as int64.

The evaluators are in the other modules of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.onnx.context import NodeContext
from spirloom.registration import registers

Evaluator = Callable[[NodeContext, list[Array]], Array | Sequence[Array]]
EVALUATORS: dict[str, Evaluator] = {}
folds = registers(EVALUATORS)  # the evaluator of ONNX operators


class NotFolded(Exception):
    """Raised by an evaluator to convert the node instead of folding it."""


def fold(ctx: NodeContext, inputs: list[Array]) -> list[Array]:
    """The outputs of a node that has an evaluator."""
    try:
        with np.errstate(all="ignore"):
            result = EVALUATORS[ctx.op_type](ctx, inputs)
    except (ValueError, IndexError, TypeError, OverflowError, MemoryError) as error:
        raise Unsupported(f"its constant inputs do not fit: {error}") from error
    if isinstance(result, np.ndarray | np.generic):
        return [np.asarray(result)]
    return [np.asarray(r) for r in result]
