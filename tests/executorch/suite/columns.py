"""How each case is lowered."""

from __future__ import annotations

from enum import StrEnum

import torch

from tests.executorch.suite.cases import Case, all_cases


class Column(StrEnum):
    """A column of the table."""

    STATIC = "static"  # in the suite's own dtypes but half floats
    HALF = "half"  # in half floats, where the suite has them
    DYNAMIC = "dynamic"  # every size of an input that may vary does, require_dynamic_shapes
    FORCED = "force_fp16"  # of floats, computed in half floats

    @property
    def options(self) -> dict[str, bool]:
        """The partitioner's."""
        if self is Column.DYNAMIC:
            return {"require_dynamic_shapes": True}
        return {"force_fp16": True} if self is Column.FORCED else {}

    def has(self, case: Case) -> bool:
        if self is Column.HALF:
            return case.dtype == "at::kHalf"
        if self is Column.FORCED:
            return case.dtype == "at::kFloat"
        return case.dtype != "at::kHalf"


def all_runs() -> list[str]:
    """The ids of all that can be tried: COLUMN/CASE."""
    cases = all_cases().values()
    return [f"{column}/{case.name}" for column in Column for case in cases if column.has(case)]


def rounded(tensor: torch.Tensor) -> torch.Tensor:
    """With numbers that half floats hold: what force_fp16 makes of an input or a result."""
    return tensor.half().float() if tensor.dtype is torch.float32 else tensor
