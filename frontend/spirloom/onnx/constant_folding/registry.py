"""Evaluates ONNX nodes whose inputs are all known, in ONNX's own types: int64 stays int64.

The evaluators are in the other modules of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.onnx.context import NodeContext

Evaluator = Callable[[NodeContext, list[Array]], Array | Sequence[Array]]
EVALUATORS: dict[str, Evaluator] = {}


class KeptAsNode(Exception):
    """Raised by an evaluator: the node stays one, though all is known."""


def folds(*op_types: str) -> Callable[[Evaluator], Evaluator]:
    """Registers the decorated function as the evaluator of ONNX operators."""

    def register(folder: Evaluator) -> Evaluator:
        EVALUATORS.update(dict.fromkeys(op_types, folder))
        return folder

    return register


def fold(ctx: NodeContext, inputs: list[Array]) -> list[Array]:
    """The results of a node that has an evaluator."""
    try:
        with np.errstate(all="ignore"):
            result = EVALUATORS[ctx.op_type](ctx, inputs)
    except (ValueError, IndexError, TypeError, OverflowError, MemoryError) as error:
        raise Unsupported(f"its constant inputs do not fit: {error}") from error
    if isinstance(result, np.ndarray | np.generic):
        return [np.asarray(result)]
    return [np.asarray(r) for r in result]
