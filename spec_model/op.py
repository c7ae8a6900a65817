"""Operators: the contents of a spec, and the evaluation of its formulas for a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from spec_model.device_properties import GPU
from spec_model.errors import Position
from spec_model.expr import semantics
from spec_model.expr.evaluation import evaluate
from spec_model.expr.semantics import as_number
from spec_model.expr.types import Environment, EvalError, Expr, TensorType, Value
from spec_model.reference import Reference
from spec_model.spec import (
    Arg,
    ArgType,
    AxisValue,
    Check,
    Domain,
    ExecutorchMapping,
    Kernel,
    Let,
    OnnxMapping,
    Output,
    PushMember,
    TestCase,
    Tolerance,
    Variant,
    dtype_source,
)
from spec_model.symbolic import Undecided, strict
from spec_model.traits import Trait, names_of_traits
from spec_model.vocabulary import MAX_RANK, DType, Storage

_ABSENT = TensorType((), DType.F32, present=False)


@dataclass(frozen=True, slots=True)
class Op:
    """One operator.

    Args of a call are passed by name: TensorType for a tensor, None for an absent one, a sequence
    of TensorType for a list, and ints, floats, bools, strs or sequences of ints. Missing args have
    their default. An invalid call raises EvalError.

    Ints and shapes may be symbolic. A check whose outcome differs between sizes is then left to the
    runtime, which evaluates all checks at the sizes of a run. A kernel or a trait with a condition
    whose outcome differs is not selected, or not present. A shape that has no formula raises
    Undecided.
    """

    name: str
    overloads: tuple[str, ...]  # further PyTorch overloads that it computes
    executorch: tuple[ExecutorchMapping, ...]  # ExecuTorch names that it computes
    onnx: tuple[OnnxMapping, ...]  # ONNX operators that it computes alone
    traits: Mapping[Trait, Expr | None]  # with the condition on calls; None: always
    short_name: str
    formula: str  # the spec's opening comment
    position: Position
    args: tuple[Arg, ...]
    steps: tuple[Let | Check, ...]
    outputs: tuple[Output, ...]
    bounds: tuple[Expr | None, ...]  # by output, the interval of its values
    view_of: int | None  # the arg that the output is a view of
    view_offset: Expr | None  # offset of the view; -1: not contiguous
    in_place: tuple[int | None, ...]  # by output, the arg that it updates
    fused_from: tuple[str, ...]  # the ops that the importer or runtime may fuse into this one
    fused_at_least: int  # the minimum count of them in one fusion
    kernels: tuple[Kernel, ...]  # in order of preference
    variants: tuple[Variant, ...]
    reference: Reference
    tests: tuple[TestCase, ...]
    domain: Domain
    tolerance: Mapping[DType, Tolerance]

    @property
    def is_view(self) -> bool:
        """Whether it is always an alias in buffers, without a kernel."""
        return self.view_of is not None and self.view_offset is None

    def has_trait(self, trait: Trait, args: Mapping[str, object] | None = None) -> bool:
        """Whether every call has the trait, or the given call has it."""
        if trait not in self.traits:
            return False
        condition = self.traits[trait]
        if condition is None or args is None:
            return condition is None
        with strict():
            return _holds(condition, self.values(args))

    @property
    def trait_texts(self) -> tuple[str, ...]:
        """The traits, for people."""
        return tuple(
            str(trait) if condition is None else f"{trait} (some calls)"
            for trait, condition in self.traits.items()
        )

    @property
    def foreign_names(self) -> dict[str, tuple[str, ...]]:
        """The names of the op in other formats, by format, without its own."""
        executorch = dict.fromkeys(mapping.name for mapping in self.executorch)
        torch = {self.name, *self.overloads}
        return {
            "PyTorch": self.overloads,
            "ONNX": tuple(mapping.name for mapping in self.onnx),
            "ExecuTorch": tuple(name for name in executorch if name not in torch),
        }

    @property
    def other_names(self) -> frozenset[str]:
        """The names that the op uses outside of its checks, outputs and kernels."""
        offset = frozenset[str]() if self.view_offset is None else self.view_offset.names
        bounds = (e.names for e in self.bounds if e is not None)
        return offset.union(names_of_traits(self.traits), *bounds)

    def infer(self, args: Mapping[str, object]) -> list[TensorType]:
        """The types of the outputs. Fails if the call is invalid."""
        with strict():
            return self._infer(self.arguments(args))

    def infer_for_kernels(self, args: Mapping[str, object]) -> tuple[list[TensorType], bool]:
        """As infer(), and whether a kernel computes the call with some storage."""
        with strict():
            values = self.arguments(args)
            inferred = self._infer(values)
            values |= {y.name: t for y, t in zip(self.outputs, inferred, strict=True)}
            return inferred, any(self._choose(values, storage, ()) for storage in Storage)

    def select(
        self, args: Mapping[str, object], storage: Storage | str, outputs: Sequence[TensorType] = ()
    ) -> Variant | None:
        """The variant that computes the call with the node's `storage`, or None.

        Tensors without a storage have the node's. `outputs` can set the storages of outputs, for
        kernels that bind them in other storages (spirloom.copy).
        """
        with strict():
            found = self._choose(self.values(args), Storage(storage), outputs)
        return None if found is None else found[0]

    def values(self, args: Mapping[str, object]) -> dict[str, Value]:
        """The values of all names in the kernels' formulas for a call. Fails if it is invalid."""
        with strict():
            values = self.arguments(args)
            inferred = self._infer(values)
        return values | {y.name: t for y, t in zip(self.outputs, inferred, strict=True)}

    def offset_of_view(self, args: Mapping[str, object]) -> int:
        """Index of the first element of a call's view; -1 if it is not contiguous."""
        if self.view_offset is None:
            return 0
        return cast(int, evaluate(self.view_offset, self.values(args)))

    def computes(
        self, variant: Variant, args: Mapping[str, object], outputs: Sequence[TensorType] = ()
    ) -> bool:
        """Whether a variant of this op can compute the call, even if it is not preferred."""
        return self.computes_values(variant, self.values(args), outputs)

    def computes_values(
        self, variant: Variant, values: Environment, outputs: Sequence[TensorType] = ()
    ) -> bool:
        """As computes(), for the result of values(), which several variants can share."""
        values, stored = self._stored(values, variant.storage, outputs)
        kernel = variant.kernel
        if kernel.when is not None and not _evaluate(kernel.when, values, kernel.position):
            return False
        return _axis_values(kernel, stored, variant.storage) == list(variant.values.values())

    def variants_of(self, kernel: Kernel) -> tuple[Variant, ...]:
        """The kernel's variants."""
        return tuple(v for v in self.variants if v.kernel.name == kernel.name)

    def complete(self, args: Mapping[str, object]) -> dict[str, object]:
        """The args in schema order with defaults, as stored in graph files."""
        values = self.arguments(args)
        return {arg.name: _given(values[arg.name]) for arg in self.args}

    def dispatch(
        self, args: Mapping[str, object], storage: Storage | str, i: int = 0
    ) -> tuple[dict[str, Value], tuple[int, int, int]] | None:
        """The push constants and invocations of dispatch `i`, as computed by the runtime on a
        GPU."""
        found = self._choose(self.values(args), Storage(storage), ())
        if found is None:
            return None
        variant, values = found
        values |= {"storage": Storage(storage), "i": i, **GPU}
        push = {m.name: _pushed(m, variant.dtype, values) for m in variant.kernel.push}
        grid = tuple(evaluate(size, values) for size in variant.kernel.grid)
        return push, cast("tuple[int, int, int]", grid)

    def _choose(
        self, values: Environment, storage: Storage, outputs: Sequence[TensorType]
    ) -> tuple[Variant, dict[str, Value]] | None:
        values, stored = self._stored(values, storage, outputs)
        for kernel in self.kernels:
            if kernel.when is not None and not _holds(kernel.when, values):
                continue
            axes = _axis_values(kernel, stored, storage)
            for variant in self.variants_of(kernel):
                if list(variant.values.values()) == axes:
                    return variant, stored
        return None

    def _stored(
        self, values: Environment, storage: Storage, outputs: Sequence[TensorType]
    ) -> tuple[dict[str, Value], dict[str, Value]]:
        """All names of a call, `values`, as in conditions, and with storages of tensors."""
        values = {**values}
        for output in self.outputs:
            given = outputs[output.index].storage if output.index < len(outputs) else None
            values[output.name] = replace(cast(TensorType, values[output.name]), storage=given)
        return values, {name: _with_storage(value, storage) for name, value in values.items()}

    def arguments(self, args: Mapping[str, object]) -> dict[str, Value]:
        """All args of a call, as values of formulas."""
        unknown = [name for name in args if all(name != arg.name for arg in self.args)]
        if unknown:
            known = ", ".join(arg.name for arg in self.args)
            raise EvalError(
                f"{self.name} has no argument '{unknown[0]}'; its arguments are: {known}."
            )
        values: dict[str, Value] = {}
        for arg in self.args:
            values[arg.name] = _value(self.name, arg, args.get(arg.name), values)
        return values

    def _infer(self, values: dict[str, Value]) -> list[TensorType]:
        self._check_dtypes(values)
        for step in self.steps:
            if isinstance(step, Let):
                self._define(step, values)
            elif not self._passes(step, values):
                raise EvalError(_broken(step, values))
        return [self._output(output, values) for output in self.outputs]

    def _define(self, step: Let, values: dict[str, Value]) -> None:
        """Sets a name, unless its value has no formula; then expressions that use it have none."""
        try:
            values[step.name] = _evaluate(step.value, values, step.position)
        except Undecided:
            values.pop(step.name, None)

    def _passes(self, check: Check, values: Environment) -> bool:
        try:
            return bool(_evaluate(check.condition, values, check.position))
        except Undecided:
            return True  # the runtime evaluates it

    def _output(self, output: Output, values: Environment) -> TensorType:
        shape = cast("tuple[int, ...]", _evaluate(output.shape, values, output.position))
        if len(shape) > MAX_RANK or any(map(_is_negative, shape)):
            raise EvalError(f"Output {output.name} has the invalid shape {list(shape)}.")
        return TensorType(shape, cast(DType, _evaluate(output.dtype, values, output.position)))

    def _check_dtypes(self, values: Environment) -> None:
        source = dtype_source(self.args)
        first = None
        if source is not None:
            value = values[source.name]
            first = value.dtype if isinstance(value, TensorType) else _first(value).dtype
        for arg in self.args:
            wanted = None if arg.any_dtype else arg.dtype or first
            for name, tensor in _tensors(arg, values[arg.name]):
                if tensor.present and wanted is not None and tensor.dtype is not wanted:
                    message = f"DType of {name} ({tensor.dtype}) is not {wanted}."
                    raise EvalError(message)


def _holds(condition: Expr, values: Environment) -> bool:
    """Whether a condition is true, for symbolic ints at all sizes."""
    try:
        return bool(evaluate(condition, values))
    except Undecided:
        return False


def _is_negative(size: int) -> bool:
    """Whether a size is negative, for a symbolic one at all sizes."""
    try:
        return size < 0
    except Undecided:
        return False


def _evaluate(expression: Expr, values: Environment, at: Position) -> Value:
    """The value of a formula. Errors have its position."""
    try:
        return evaluate(expression, values)
    except EvalError as error:
        error.at = error.at or at
        raise


def _pushed(member: PushMember, dtype: DType, values: Environment) -> Value:
    value = evaluate(member.value, values)
    return as_number(cast(float, value), dtype) if member.type == "number" else value


def _first(value: Value) -> TensorType:
    return semantics.at(cast("tuple[TensorType, ...]", value), 0)


def _tensors(arg: Arg, value: Value) -> list[tuple[str, TensorType]]:
    if arg.type is ArgType.TENSOR:
        return [(arg.name, cast(TensorType, value))]
    if arg.type is ArgType.TENSORS:
        tensors = cast("tuple[TensorType, ...]", value)
        return [(arg.name, tensor) for tensor in tensors]
    return []


def _broken(check: Check, values: Environment) -> str:
    message = f"{check.text} does not hold"
    if check.sides is not None:
        left, right = (evaluate(side, values) for side in check.sides)
        message += f" ({left} vs {right})"
    return message + "."


def _axis_values(kernel: Kernel, values: Environment, storage: Storage) -> list[AxisValue]:
    return [
        storage if axis.of is None else cast(AxisValue, evaluate(axis.of, values))
        for axis in kernel.axes
    ]


def _with_storage(value: Value, storage: Storage) -> Value:
    if isinstance(value, TensorType) and value.storage is None:
        return replace(value, storage=storage)
    if isinstance(value, tuple):
        return tuple(_with_storage(item, storage) for item in value)  # type: ignore[return-value]
    return value


def _given(value: Value) -> object:
    return None if isinstance(value, TensorType) and not value.present else value


def _value(op: str, arg: Arg, given: object, before: Environment) -> Value:
    """The argument as a value of formulas. `before`: the values of the earlier arguments."""
    # PyTorch represents an omitted list of fixed length by an empty list.
    nothing = given is None or (arg.length and isinstance(given, Sequence) and not given)
    if nothing:
        if arg.default_of is not None:
            return before[arg.default_of]
        if arg.default is not None:
            return arg.default
        if arg.optional:
            return _ABSENT
        raise EvalError(f"Argument '{arg.name}' of {op} is missing.")
    value = _converted(arg, given)
    if value is None:
        kind = f"int[{arg.length}]" if arg.length is not None else arg.type.value
        raise EvalError(f"Argument '{arg.name}' of {op} is {given!r}; expected {kind}.")
    return value


def _converted(arg: Arg, given: object) -> Value | None:
    is_int = isinstance(given, int) and not isinstance(given, bool)
    match arg.type:
        case ArgType.TENSOR:
            return given if isinstance(given, TensorType) else None
        case ArgType.INT:
            return cast(int, given) if is_int else None
        case ArgType.FLOAT | ArgType.NUMBER:
            return float(cast(float, given)) if is_int or isinstance(given, float) else None
        case ArgType.BOOL:
            return given if isinstance(given, bool) else None
        case ArgType.STR:
            return given if isinstance(given, str) else None
        case ArgType.INTS if is_int:
            return (cast(int, given),) * (1 if arg.length is None else arg.length)
    if not isinstance(given, Sequence) or isinstance(given, str):
        return None
    items = tuple(given)
    element = TensorType if arg.type is ArgType.TENSORS else int
    if not all(isinstance(item, element) and not isinstance(item, bool) for item in items):
        return None
    if arg.length is not None and len(items) == 1:
        return items * arg.length
    return items if arg.length in (None, len(items)) else None


def packed_constants(op: Op, kernels: Iterable[Kernel]) -> set[str]:
    """The weights that the kernels pack: all packed tensors except the op's first tensor."""
    first = next((arg.name for arg in op.args if arg.type.is_tensor), None)
    packed = {x.name for kernel in kernels for x in kernel.operands if x.pack is not None}
    return packed - {first}
