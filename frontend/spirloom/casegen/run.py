"""A test case as one variant is to compute it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codegen import Op
from codegen.expr.types import TensorType
from codegen.spec import TestCase, Variant
from codegen.vocabulary import DType


@dataclass(frozen=True, slots=True)
class Run:
    """A call for one variant. `dtypes` are those of the tensor arguments."""

    op: Op
    case: str
    test: TestCase
    variant: Variant
    dtypes: Mapping[str, DType]
    outputs: tuple[TensorType, ...]

    @property
    def id(self) -> str:
        return f"{self.variant.id}/{self.case}"
