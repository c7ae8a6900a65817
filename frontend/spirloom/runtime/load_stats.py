"""What loading a model took, and what a run of it will."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, fields
from typing import Any

from spirloom.runtime import abi
from spirloom.runtime.native import Handle, Native


@dataclass(frozen=True, slots=True)
class LoadStats:
    """What loading, or the resize that prepared the sizes at hand, did. Nanoseconds and bytes."""

    load_ns: int  # all of loading
    pipeline_ns: int  # creating pipelines
    pipelines: int  # distinct ones
    dispatches: int  # per run
    barriers: int  # per run
    layout_copies: int  # inserted dispatches that change storage
    aliased_views: int  # nodes that became aliases
    constant_bytes: int  # packed weights on the device
    planned_bytes: int  # activation memory after planning
    naive_bytes: int  # activation memory with no sharing
    live_bytes: int  # the most activation memory in use at once: no plan takes less
    state_bytes: int  # tensors that outlive runs


def read_stats(library: Native, model: Handle) -> LoadStats:
    """Those of the sizes at hand."""
    stats: Any = abi.LoadStats.new()
    library.call("model_stats", model.value, ctypes.byref(stats))
    return LoadStats(*(getattr(stats, field.name) for field in fields(LoadStats)))
