"""Kernels and their variants: one shader for each combination of axis values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from spec_model.data_types import DTypeGlsl
from spec_model.errors import Position
from spec_model.expr.evaluation import evaluate
from spec_model.expr.types import Expr
from spec_model.vocabulary import Access, BindingType, Capability, DType, Storage, VectorAccess

AxisValue = DType | Storage | int


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of a kernel's variants. `of`: the value required by a call; None: the node's."""

    name: str
    values: tuple[AxisValue, ...]
    of: Expr | None

    def code(self, value: AxisValue) -> int:
        """The value's code in a variant's key."""
        return value.code if isinstance(value, DType | Storage) else self.values.index(value)


@dataclass(frozen=True, slots=True)
class Pack:
    """A call of a packing op, which produces the layout that a kernel reads."""

    op: str
    args: tuple[Expr | None, ...]  # in the order of the packing op's args; None: an absent tensor
    position: Position
    needs: frozenset[Capability] = frozenset()  # of all kernels of the packing op


class OperandSource(Enum):
    """What a kernel binds; the values are part of the registry's format."""

    ARG = 0
    OUTPUT = 1
    INTERMEDIATE = 2  # the result of the operand's `pack`


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that a kernel binds. `dtype` and `storage` are values or names of axes."""

    name: str
    source: OperandSource
    index: int  # among the op's args or outputs; 0 for an intermediate
    is_list: bool
    optional: bool
    access: Access
    dtype: DType | str
    storage: Storage | str
    pack: Pack | None
    position: Position

    @property
    def is_output(self) -> bool:
        """Whether the kernel writes it."""
        return self.source is OperandSource.OUTPUT

    @property
    def own_storage(self) -> bool:
        """Whether a further axis, not the node, determines its storage."""
        return not isinstance(self.storage, Storage) and self.storage != "storage"


@dataclass(frozen=True, slots=True)
class PushMember:
    """A member of the push-constant block. `count` is None for a scalar."""

    name: str
    type: str  # "int", "float" or "number": int in integer variants, otherwise float
    count: int | None
    offset: int
    value: Expr
    pushed: Expr  # written by the runtime: the value, or the bits of a number
    position: Position
    implied: bool = False  # the GLSL names it, without an entry in `push`

    def type_in(self, dtype: DType) -> str:
        """The GLSL type in variants of this dtype."""
        if self.type == "number":
            return "float" if dtype.is_float else "int"
        return self.type

    @property
    def size(self) -> int:
        """The size in bytes."""
        return 4 * (1 if self.count is None else self.count)


@dataclass(frozen=True, slots=True)
class Constant:
    """A specialization constant."""

    name: str
    id: int
    type: str  # "int", "float" or "bool"
    default: str  # in GLSL
    value: Expr
    position: Position


@dataclass(frozen=True, slots=True)
class Kernel:
    """A shader in several variants, with its bindings, push constants and dispatch size."""

    name: str
    template: str
    texts: Mapping[str, str]  # `when` and `prefer` as in the spec, for messages
    when: Expr | None
    prefer: Expr | None  # whether a device prefers this kernel to the following ones
    loop_iterations: Expr | None  # maximum of an invocation, in all loops together; None: few
    axes: tuple[Axis, ...]  # dtype, storage, then further ones
    where: Expr | None
    auto_inserted: Expr | None  # variants of calls that are inserted, not in graph files
    unsupported_storage: Mapping[Storage, str]
    operands: tuple[Operand, ...]  # index: the binding
    access: Mapping[str, tuple[VectorAccess, ...]]  # by tensor; also of unbound ones
    params: Mapping[str, object]
    alternatives: tuple[str, ...]  # params in which kernels that share modules may differ
    push: tuple[PushMember, ...]
    pushable: frozenset[str]  # names that are push constants if the GLSL uses them
    constants: tuple[Constant, ...]
    workgroup: tuple[int, int, int]
    grid: tuple[Expr, Expr, Expr]
    repeat: Expr | None
    # The offset in the output at which dispatch i stores the i-th tensor of the list, unchanged; -1
    # if it does not.
    concat_offset: Expr | None
    needs: frozenset[Capability]
    portable: bool
    derived: bool  # by `long_loops` of another kernel; never preferred
    test_only: bool  # never preferred, and only in libraries of tests
    position: Position
    index: int = 0  # in its library

    @property
    def push_bytes(self) -> int:
        """The size of the push-constant block."""
        return sum(member.size for member in self.push)


# By storage, and whether the kernel only reads the tensor.
_IMAGES = {
    (Storage.TEXTURE3D, True): BindingType.SAMPLED_IMAGE_3D,
    (Storage.TEXTURE3D, False): BindingType.STORAGE_IMAGE_3D,
    (Storage.TEXTURE2D, True): BindingType.SAMPLED_IMAGE_2D_ARRAY,
    (Storage.TEXTURE2D, False): BindingType.STORAGE_IMAGE_2D_ARRAY,
}


@dataclass(frozen=True, slots=True)
class BoundTensor:
    """An operand of a variant, as templates access it."""

    name: str
    binding: int
    dtype: DType
    storage: Storage
    access: Access
    optional: bool
    position: Position

    @property
    def glsl(self) -> DTypeGlsl:
        """The GLSL names of its dtype."""
        return self.dtype.glsl

    @property
    def binding_type(self) -> BindingType:
        """The descriptor type in the shader."""
        if self.storage is Storage.BUFFER:
            return BindingType.STORAGE_BUFFER
        return _IMAGES[self.storage, self.access is Access.READ]


@dataclass(frozen=True, slots=True)
class Variant:
    """One shader: a kernel with a value on each axis."""

    id: str
    key: int
    op: str
    kernel: Kernel
    values: Mapping[str, AxisValue]
    tensors: tuple[BoundTensor, ...]
    needs: tuple[Capability, ...]  # upper bound: modules may not use features implied by dtypes
    # Params of the kernels that share its module, by number; empty if there are no others.
    alternatives: Mapping[int, Mapping[str, object]] = field(default_factory=dict)

    @property
    def dtype(self) -> DType:
        """The value of the axis `dtype`."""
        value = self.values["dtype"]
        assert isinstance(value, DType)
        return value

    @property
    def auto_inserted(self) -> bool:
        """Whether the runtime or importer inserts calls of it."""
        condition = self.kernel.auto_inserted
        return condition is not None and bool(evaluate(condition, self.values))

    @property
    def storage(self) -> Storage:
        """The value of the axis `storage`."""
        value = self.values["storage"]
        assert isinstance(value, Storage)
        return value
