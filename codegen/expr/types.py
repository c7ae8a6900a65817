"""The types of the expression language, and the typed trees that expressions become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from codegen.errors import Position
from codegen.vocabulary import DType, Storage

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
MAX_INTS = 64  # the longest list, as kMaxInts in runtime/ops/eval.h


class Kind(StrEnum):
    """What a value is; the words are those of messages."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    STR = "str"
    DTYPE = "dtype"
    STORAGE = "storage"
    INTS = "ints"
    TENSOR = "tensor"
    TENSORS = "tensor list"


@dataclass(frozen=True, slots=True)
class TensorType:
    """The shape and dtype of a tensor; `storage` is where it lives, once that is chosen."""

    shape: tuple[int, ...]
    dtype: DType
    storage: Storage | None = None
    present: bool = True


Value = (
    int
    | float
    | bool
    | str
    | DType
    | Storage
    | tuple[int, ...]
    | TensorType
    | tuple[TensorType, ...]
)
Environment = Mapping[str, Value]


class EvalError(Exception):
    """An expression has no value for the given arguments; the message says why.

    `at`: where the formula stands, if that is known.
    """

    at: Position | None = None


class Origin(StrEnum):
    """Where a name comes from."""

    ARG = "arg"
    LET = "let"
    OUTPUT = "out"
    LOOP = "it"
    SPECIAL = "special"
    AXIS = "axis"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Operation:
    """A function or operator: its meaning in Python, and its opcode (expr/opcodes.py).

    A code that stands for several opcodes lacks the kind of the first operand; an empty one leaves
    the operand as it is. `more` are further operands of the opcode.
    """

    evaluate: Callable[..., Value]
    code: str
    more: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Literal:
    kind: Kind
    value: Value
    length: int | None = None
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Variable:
    kind: Kind
    name: str
    origin: Origin
    length: int | None = None
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset((self.name,)))


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation on operands, all of them evaluated."""

    kind: Kind
    operation: Operation
    operands: tuple[Expr, ...]
    length: int | None = None
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list display."""

    operands: tuple[Expr, ...]
    names: frozenset[str]
    kind: Kind = Kind.INTS

    @property
    def length(self) -> int:
        return len(self.operands)


@dataclass(frozen=True, slots=True)
class Logic:
    """`and`, `or` of two bools; the right one is evaluated only if it matters."""

    is_and: bool
    left: Expr
    right: Expr
    names: frozenset[str]
    kind: Kind = Kind.BOOL
    length: None = None


@dataclass(frozen=True, slots=True)
class Conditional:
    """`then if condition else otherwise`; one branch is evaluated."""

    kind: Kind
    condition: Expr
    then: Expr
    otherwise: Expr
    length: int | None
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """`[element for variable in iterable if condition]`."""

    variable: Variable
    iterable: Expr
    element: Expr
    condition: Expr | None
    length: int | None
    names: frozenset[str]  # without the loop's variable
    kind: Kind = Kind.INTS


Expr = Literal | Variable | Apply | ListOf | Logic | Conditional | Comprehension


def names_of(*expressions: Expr) -> frozenset[str]:
    """The free names of several expressions."""
    return frozenset().union(*(e.names for e in expressions))
