"""The signature of an operator, and its names in ExecuTorch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from spec_model.errors import Position
from spec_model.expr.types import Expr, Literal, Value
from spec_model.vocabulary import DType


class ArgType(StrEnum):
    """The kinds of arguments."""

    TENSOR = "tensor"
    TENSORS = "tensor[]"
    INT = "int"
    FLOAT = "float"
    NUMBER = "number"  # a float; an int in integer kernels
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
    default_of: str | None = None  # instead: the earlier argument whose value is the default

    @property
    def has_op_dtype(self) -> bool:
        """Whether it is a tensor, or list of tensors, of the op's dtype."""
        return self.type.is_tensor and self.dtype is None and not self.any_dtype

    @property
    def required(self) -> bool:
        """Whether every call must pass it."""
        return self.default is None and self.default_of is None and not self.optional


def dtype_source(args: Iterable[Arg]) -> Arg | None:
    """The arg that determines the dtype of all `tensor` args: the first that is always present."""
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
    """A condition on calls. `sides`: the operands of a comparison of two ints."""

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

    @property
    def fixed_dtype(self) -> DType | None:
        """The dtype if it is the same in every call."""
        value = self.dtype.value if isinstance(self.dtype, Literal) else None
        return value if isinstance(value, DType) else None


def argument_text(arg: Arg) -> str:
    """An argument in the syntax of specs."""
    word = str(arg.type)
    if arg.dtype is not None or arg.any_dtype:
        word = word.replace("tensor", f"tensor<{arg.dtype or 'any'}>")
    if arg.length is not None:
        word = word.replace("[]", f"[{arg.length}]")
    text = f"{arg.name}: {word}{'?' if arg.optional else ''}"
    if arg.default_of is not None:
        return f"{text} = {arg.default_of}"
    if arg.default is None:
        return text
    default = list(arg.default) if isinstance(arg.default, tuple) else arg.default
    return f"{text} = {str(default).lower() if isinstance(default, bool) else default}"


@dataclass(frozen=True, slots=True)
class Exactly:
    """An argument that must have this value; None: must be absent."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class ShapeOf:
    """The shape of a tensor of the call, starting at a dim."""

    tensor: str  # an arg or an output
    first: int = 0


@dataclass(frozen=True, slots=True)
class DTypeOf:
    """The dtype of a tensor of the call."""

    tensor: str


@dataclass(frozen=True, slots=True)
class OnnxArg:
    """The value of an argument: that of an ONNX attribute (default: `value`), or `value`."""

    name: str
    attribute: str  # empty: none
    value: Value


@dataclass(frozen=True, slots=True)
class OnnxMapping:
    """An ONNX operator that the op computes alone. Its inputs are the op's tensors, in order."""

    name: str  # with its domain unless that is ONNX's
    position: Position
    args: tuple[OnnxArg, ...] = ()


# The meaning of one argument: the arg of that name, the args that receive the elements of a list, a
# required value, or None if it is ignored.
CallArg = str | tuple[str, ...] | Exactly | None


@dataclass(frozen=True, slots=True)
class ExecutorchMapping:
    """One name in ExecuTorch, and the calls of it that the op computes."""

    name: str
    position: Position
    call_args: tuple[CallArg, ...]
    bindings: tuple[tuple[str, Value | ShapeOf | DTypeOf], ...] = ()  # args that no argument binds
    rank: int | None = None  # of the first tensor; None: any
    part: int = 0  # the index of this call among the calls that compute one ExecuTorch call
    parts: int = 1  # their count
    # The index of the result that is the op's first output, or the name of the arg that the call
    # modifies in place: the op's output replaces it.
    result: int | str = 0

    def differs(self, other: ExecutorchMapping) -> bool:
        """Whether no call matches both, or they are different parts of it."""
        if (self.part, self.parts) != (other.part, other.parts):
            return self.parts == other.parts
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            return True
        return any(
            isinstance(ours, Exactly) and isinstance(theirs, Exactly) and ours != theirs
            for ours, theirs in zip(self.call_args, other.call_args, strict=False)
        )
