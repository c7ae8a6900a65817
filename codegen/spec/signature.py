"""What a call of an operator takes and gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from codegen.errors import Position
from codegen.expr.types import Expr, Value
from codegen.vocabulary import DType


class ArgType(StrEnum):
    """The kinds of arguments."""

    TENSOR = "tensor"
    TENSORS = "tensor[]"
    INT = "int"
    FLOAT = "float"
    NUMBER = "number"  # a float, which kernels of integers take as an int
    BOOL = "bool"
    INTS = "int[]"
    STR = "str"

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor or a list of them."""
        return self in (ArgType.TENSOR, ArgType.TENSORS)


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument. A tensor's dtype is that of the op, `dtype`, or any (`any_dtype`)."""

    name: str
    type: ArgType
    index: int
    position: Position
    dtype: DType | None = None
    any_dtype: bool = False
    optional: bool = False  # a tensor that may be absent
    length: int | None = None  # of an `int[N]`
    default: Value | None = None  # None: the argument is required (or an optional tensor)


def dtype_source(args: Iterable[Arg]) -> Arg | None:
    """The arg whose dtype is that of every `tensor` of a call: the first that is always there."""
    return next(
        (a for a in args if a.type.is_tensor and not (a.optional or a.any_dtype or a.dtype)), None
    )


@dataclass(frozen=True, slots=True)
class Let:
    """A named expression."""

    name: str
    value: Expr
    position: Position


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on calls. `sides`: both operands, where it compares two ints."""

    text: str
    condition: Expr
    sides: tuple[Expr, Expr] | None
    position: Position


@dataclass(frozen=True, slots=True)
class Output:
    """One result."""

    name: str
    shape: Expr
    dtype: Expr
    index: int
    position: Position
