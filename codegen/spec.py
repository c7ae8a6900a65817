"""What specs say, checked and typed: operators, kernels, variants and test cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from codegen.errors import Position
from codegen.expr.types import Expr, Value
from codegen.vocabulary import Access, BindingType, Capability, DType, DTypeGlsl, Storage


class ArgType(StrEnum):
    """The kinds of arguments."""

    TENSOR = "tensor"
    TENSORS = "tensor[]"
    INT = "int"
    FLOAT = "float"
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


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on calls. `sides`: both operands, where it compares two ints."""

    text: str
    condition: Expr
    sides: tuple[Expr, Expr] | None


@dataclass(frozen=True, slots=True)
class Output:
    """One result."""

    name: str
    shape: Expr
    dtype: Expr
    index: int
    position: Position


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
    type: str  # "int" or "float"
    count: int | None
    offset: int
    value: Expr
    position: Position

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
    axes: tuple[Axis, ...]  # dtype, storage, then further ones
    where: Expr | None
    no_storage: Mapping[Storage, str]
    operands: tuple[Operand, ...]  # index: the binding
    params: Mapping[str, object]
    push: tuple[PushMember, ...]
    constants: tuple[Constant, ...]
    workgroup: tuple[int, int, int]
    grid: tuple[Expr, Expr, Expr]
    repeat: Expr | None
    needs: frozenset[Capability]
    portable: bool
    position: Position
    index: int = 0  # in its library

    @property
    def push_bytes(self) -> int:
        """The size of the push-constant block."""
        return sum(member.size for member in self.push)


@dataclass(frozen=True, slots=True)
class BoundTensor:
    """An operand in a variant, as templates see it."""

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
        """What the shader declares it as."""
        if self.storage is Storage.BUFFER:
            return BindingType.STORAGE_BUFFER
        read_only = self.access is Access.READ
        return BindingType.SAMPLED_IMAGE if read_only else BindingType.STORAGE_IMAGE


@dataclass(frozen=True, slots=True)
class Variant:
    """One shader: a kernel with a value on each axis."""

    id: str
    key: int
    op: str
    kernel: Kernel
    values: Mapping[str, AxisValue]
    tensors: tuple[BoundTensor, ...]
    needs: tuple[Capability, ...]

    @property
    def dtype(self) -> DType:
        """The value of the axis `dtype`."""
        value = self.values["dtype"]
        assert isinstance(value, DType)
        return value

    @property
    def storage(self) -> Storage:
        """The value of the axis `storage`."""
        value = self.values["storage"]
        assert isinstance(value, Storage)
        return value


@dataclass(frozen=True, slots=True)
class TensorCase:
    """A tensor of a test case: its shape, and what to fill it with."""

    shape: tuple[int, ...]
    range: tuple[float, float] | None = None  # None: by dtype
    values: tuple[float, ...] | None = None  # row-major; instead of random numbers
    constant: bool | None = None  # stored in the graph; None: if a kernel packs it


CaseValue = Value | TensorCase | tuple[TensorCase, ...] | None


@dataclass(frozen=True, slots=True)
class TestCase:
    """A call to test: a value for every arg (None: absent), and which variants it is for."""

    __test__ = False  # not a pytest class

    args: Mapping[str, CaseValue]
    dtypes: frozenset[DType] | None  # None: all
    storages: frozenset[Storage] | None
    kernel: str | None  # only calls that this kernel computes
    position: Position


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A result y passes when |y - r| <= atol + rtol * |r|."""

    rtol: float
    atol: float
