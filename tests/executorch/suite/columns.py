"""The ways to lower a case."""

from __future__ import annotations

from enum import StrEnum

import torch

from tests.executorch.suite.cases import Case, all_cases


class Column(StrEnum):
    """A column of the table."""

    STATIC = "static"  # in the suite's dtypes except fp16
    HALF = "half"  # in fp16, if the suite has it
    DYNAMIC = "dynamic"  # dynamic input sizes where possible, require_dynamic_shapes
    FORCED = "force_fp16"  # fp32 cases computed in fp16

    @property
    def options(self) -> dict[str, bool]:
        """Options of the partitioner."""
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
    """The ids of all runs: COLUMN/CASE."""
    cases = all_cases().values()
    return [f"{column}/{case.name}" for column in Column for case in cases if column.has(case)]


def rounded(tensor: torch.Tensor) -> torch.Tensor:
    """Rounds fp32 values to fp16, as force_fp16 does with inputs and results."""
    return tensor.half().float() if tensor.dtype is torch.float32 else tensor
