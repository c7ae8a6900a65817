"""The types of the expression language, its typed trees, and scopes of names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from spec_model.errors import Position
from spec_model.interval import EVERYTHING, Interval
from spec_model.vocabulary import DType, Storage
from spec_model.yaml_nodes import Scalar

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
MAX_INTS = 64  # the maximum length of a list, as kMaxInts in runtime/ops/eval.h


class Kind(StrEnum):
    """The kinds of values, named as in messages."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    STR = "str"
    DTYPE = "dtype"
    STORAGE = "storage"
    INTS = "ints"
    TENSOR = "tensor"
    TENSORS = "tensor list"
    INTERVAL = "interval"


@dataclass(frozen=True, slots=True)
class TensorType:
    """The shape and dtype of a tensor; its `storage` once it is chosen. `bounds`: those of its
    values, in formulas of bounds."""

    shape: tuple[int, ...]
    dtype: DType
    storage: Storage | None = None
    present: bool = True
    bounds: Interval = EVERYTHING


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
    | Interval
)
Environment = Mapping[str, Value]


class EvalError(Exception):
    """An expression has no value for the given arguments; the message is the reason.

    `at`: the position of the formula, if it is known.
    """

    at: Position | None = None


class Origin(StrEnum):
    """The origin of a name."""

    ARG = "arg"
    LET = "let"
    OUTPUT = "out"
    LOOP = "it"
    SPECIAL = "special"
    AXIS = "axis"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Operation:
    """A function or operator: its implementation in Python and its opcode.

    codegen/registry/opcodes.py lists the opcodes. A `code` that denotes several opcodes omits the
    suffix for the kind of the first operand. An empty `code` returns the operand unchanged. `more`
    are further operands of the opcode.
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
    """An operation whose operands are all evaluated."""

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
    """`and`, `or` of two bools with short-circuit evaluation."""

    is_and: bool
    left: Expr
    right: Expr
    names: frozenset[str]
    kind: Kind = Kind.BOOL
    length: None = None


@dataclass(frozen=True, slots=True)
class Conditional:
    """`then if condition else otherwise`; only one branch is evaluated."""

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
    names: frozenset[str]  # without the loop variable
    kind: Kind = Kind.INTS


Expr = Literal | Variable | Apply | ListOf | Logic | Conditional | Comprehension


def names_of(*expressions: Expr) -> frozenset[str]:
    """The free names of several expressions."""
    return frozenset().union(*(e.names for e in expressions))


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a spec; `known` are the functions that it can call."""

    name: str
    parameters: tuple[str, ...]
    body: Scalar
    known: Mapping[str, Function]
    position: Position
    calls: list[Position] = field(default_factory=list)  # so far

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.parameters)})"


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that an expression can use; `values` are names of other expressions. `storages`:
    whether `x.storage` is known. `bounds`: whether numbers and tensors are
    converted to intervals of values."""

    variables: Mapping[str, Variable]
    storages: bool = False
    bounds: bool = False
    values: Mapping[str, Expr] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)

    def with_function(self, function: Function) -> Scope:
        """The scope with a further function."""
        return replace(self, functions={**self.functions, function.name: function})

    def with_variable(self, variable: Variable) -> Scope:
        """The scope with a further variable."""
        return replace(self, variables={**self.variables, variable.name: variable})

    def with_value(self, name: str, value: Expr) -> Scope:
        """The scope with a further name for `value`."""
        return replace(self, values={**self.values, name: value})
