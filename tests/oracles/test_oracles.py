"""A sample of the oracles; `./dev fuzz onnx_nodes 30` runs one for 30 minutes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spirloom.ir import Array

from tests import sample
from tests.frontend import reference_run
from tests.fuzz import campaign
from tests.oracles import attention, dynamic_sizes, onnx_nodes, passes, torch_calls, torch_sizes

# Target and number of inputs.
TARGETS = {
    "attention": (attention.TARGET, 60),
    "dynamic_sizes": (dynamic_sizes.TARGET, 250),
    "onnx_nodes": (onnx_nodes.TARGET, 400),
    "passes": (passes.TARGET, 60),
    "torch_calls": (torch_calls.TARGET, 40),
    "torch_sizes": (torch_sizes.TARGET, 20),
}


@pytest.mark.parametrize("name", TARGETS)
def test_results_equal_those_of_the_oracle(name: str, tmp_path: Path) -> None:
    target, count = TARGETS[name]
    seed = sample.seed()
    result = campaign.campaign(target, seed, count, keep=tmp_path)
    assert not result.findings, f"seed {seed}: {result}"
    assert result.accepted >= count / 60  # of attention, one in seven is


def test_differences_are_findings() -> None:
    """An oracle that accepts everything would find nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference_run, "run", _wrong(reference_run.run))
        for target in (onnx_nodes.TARGET, torch_calls.TARGET):
            assert campaign.campaign(target, seed=1, count=4).findings


def _wrong(run: Callable[..., dict[str, Array]]) -> Callable[..., dict[str, Array]]:
    def changed(*given: Any) -> dict[str, Array]:
        found = run(*given)
        return {n: a + 1 if a.dtype.kind in "fi" else ~a for n, a in found.items()}

    return changed
