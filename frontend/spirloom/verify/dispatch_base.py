"""Verifies that the driver computes all parts of a divided dispatch (vkCmdDispatchBase)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.verify.verdicts import Verdict

# The verdict has this name instead of a variant's, and no module. The runtime then does not divide
# dispatches (runtime/session/quarantine.h).
NAME = "vkCmdDispatchBase"
DIGEST = 0
_ELEMENTS = 10_000  # several workgroups of any kernel
_SHORTEST_MS = 1e-6  # divides every dispatch into its workgroups


def check(options: dict[str, Any], begin: Callable[[], None]) -> dict[str, Any]:
    """Compares a divided dispatch with a whole one: the members of the worker's answer. `options`
    are those of Runtime. Calls `begin` before the device is used. Raises the errors of the runtime.
    """
    from spirloom.runtime import Runtime

    x = np.linspace(-2, 2, _ELEMENTS, dtype=np.float32)
    tensors = [Tensor(name, DType.F32, x.shape) for name in "xy"]
    graph = Graph(tensors[:1], tensors[1:], [Node("aten.relu", (tensors[0],), (tensors[1],), "y")])
    results = []
    for limit in (0, _SHORTEST_MS):
        with (
            Runtime(**options, max_submission_ms=limit) as runtime,
            runtime.load(graph_file.to_bytes(graph)) as model,
        ):
            begin()
            (y,) = model(x)
            results.append(np.array(y))
            submissions = model.stats.submissions
    if submissions == 1:
        return {"skipped": "dispatches are not divided on this driver"}
    wrong = np.flatnonzero(results[0] != results[1])
    if not wrong.size:
        return {"verdict": Verdict.OK, "cases": 1}
    return {
        "verdict": Verdict.WRONG,
        "cases": 1,
        "error": float(np.linalg.norm(results[1] - results[0]) / np.linalg.norm(results[0])),
        "at": [int(wrong[0])],
        "note": f"{wrong.size} of {_ELEMENTS} elements of a divided dispatch are wrong",
    }
