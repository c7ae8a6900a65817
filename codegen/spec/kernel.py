"""Kernels: a shader in several variants, and how to call it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codegen.errors import Position
from codegen.expr.types import Expr
from codegen.vocabulary import Access, Capability, DType, Storage

AxisValue = DType | Storage | int


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of a kernel's variants. `of`: which value a call needs; None: the node's."""

    name: str
    values: tuple[AxisValue, ...]
    of: Expr | None

    def code(self, value: AxisValue) -> int:
        """The value's number in a variant's key."""
        return value.code if isinstance(value, DType | Storage) else self.values.index(value)


@dataclass(frozen=True, slots=True)
class Pack:
    """A packing op's call: the form of a tensor that a kernel reads."""

    op: str
    args: tuple[Expr | None, ...]  # in the order of that op's args; None: an absent tensor
    position: Position


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor as a kernel binds it. `dtype` and `storage` are values or names of axes."""

    name: str
    is_output: bool
    index: int  # among the op's args or outputs
    is_list: bool
    optional: bool
    access: Access
    dtype: DType | str
    storage: Storage | str
    pack: Pack | None
    position: Position

    @property
    def own_storage(self) -> bool:
        """Whether a further axis, not the node, says where it lives."""
        return not isinstance(self.storage, Storage) and self.storage != "storage"


@dataclass(frozen=True, slots=True)
class PushMember:
    """A member of the push-constant block. `count` is None for a scalar."""

    name: str
    type: str  # "int", "float" or "number": an int in variants of integers, else a float
    count: int | None
    offset: int
    value: Expr
    pushed: Expr  # what the runtime puts there: the value, or the bits of a number
    position: Position

    def type_in(self, dtype: DType) -> str:
        """What a variant of this dtype declares it as."""
        if self.type == "number":
            return "float" if dtype.is_float else "int"
        return self.type

    @property
    def size(self) -> int:
        """Its bytes."""
        return 4 * (1 if self.count is None else self.count)


@dataclass(frozen=True, slots=True)
class Constant:
    """A specialisation constant."""

    name: str
    id: int
    type: str  # "int", "float" or "bool"
    default: str  # in GLSL
    value: Expr
    position: Position


@dataclass(frozen=True, slots=True)
class Kernel:
    """A shader in several variants, and how to call it."""

    name: str
    template: str
    when: Expr | None
    prefer: Expr | None  # whether a device is better served by this kernel than by those after it
    axes: tuple[Axis, ...]  # dtype, storage, then further ones
    where: Expr | None
    inserted: Expr | None  # which variants are for calls that no graph file spells out
    no_storage: Mapping[Storage, str]
    operands: tuple[Operand, ...]  # index: the binding
    params: Mapping[str, object]
    push: tuple[PushMember, ...]
    constants: tuple[Constant, ...]
    workgroup: tuple[int, int, int]
    grid: tuple[Expr, Expr, Expr]
    repeat: Expr | None
    # The element of the output where dispatch i puts the i-th tensor of its list, unchanged; -1: it
    # does something else.
    joined_at: Expr | None
    needs: frozenset[Capability]
    portable: bool
    for_tests: bool  # never preferred, and in no library but that of tests
    position: Position
    index: int = 0  # in its library

    @property
    def push_bytes(self) -> int:
        """The size of the push-constant block."""
        return sum(member.size for member in self.push)
