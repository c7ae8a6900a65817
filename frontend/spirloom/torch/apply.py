"""Applies operators to values: promotes types, folds constants, emits nodes for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spec_model.interval import of_array
from spec_model.spec import Arg, ArgType
from spec_model.stored_float import encoded, float_format
from spirloom.builder import Builder, Lifter, Value
from spirloom.data_sizes import DataSizes
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Tensor
from spirloom.narrowing import Narrowing
from spirloom.number_expr import SymFloat, number_of, truncated
from spirloom.op_library import OpError, OpLibrary
from spirloom.sizes import SymInt, is_symbolic
from spirloom.torch.values import Item, is_value, promoted
from spirloom.value_bounds import ValueRange, exact_interval, narrow_type

Types = Sequence[np.dtype[Any] | None]
Shapes = Sequence[tuple[int, ...] | None]

# Operators that torch computes in float32 if an operand is a scalar and the other one is float16.
_FLOAT32_SCALARS = frozenset({
    "aten.mul.Tensor", "aten.div.Tensor", "aten.div.Tensor_mode", "aten.floor_divide",
})  # fmt: skip
_FLOAT16, _FLOAT32 = np.dtype(np.float16), np.dtype(np.float32)
_FLOAT16_MAX, _FLOAT16_MIN = 65504.0, 2.0**-14  # the finite and the normal ones


class Applier:
    """Appends calls to a graph and checks results against the program's types and shapes."""

    def __init__(
        self,
        build: Builder,
        lifter: Lifter,
        narrowing: Narrowing,
        data_sizes: DataSizes | None = None,
    ) -> None:
        """`data_sizes`: None if sizes must not depend on the data."""
        self.build = build
        self.data_sizes = data_sizes
        self.library: OpLibrary = build.library
        self._lifter = lifter
        self._narrowing = narrowing
        # Operators that generate constants, by the constant's id: outputs then need no data in the
        # file.
        self.generators: dict[int, tuple[Array, str, Mapping[str, object]]] = {}

    def apply(
        self, op: str, given: Mapping[str, object], dtypes: Types, shapes: Shapes
    ) -> tuple[Value, ...]:
        """The results of an operator. Raises OpError or Unsupported.

        `dtypes` are torch's element types of the results, None if unknown.
        """
        specs = self.library.args(op)
        known = {arg.name for arg in specs}
        for name in given:
            if name not in known:
                raise Unsupported(f"{op} of Spirloom has no argument '{name}'")
        args = {a.name: _shaped(a, given[a.name]) for a in specs if given.get(a.name) is not None}
        first = dtypes[0] if dtypes else None
        attempts = self._attempts(specs, args, first)
        problem: Exception | None = None
        for common in attempts:
            try:
                if common == _FLOAT16 and op in _FLOAT32_SCALARS and _exceeds_float16(args):
                    results = self._with(op, specs, args, _FLOAT32, [_FLOAT32], shapes)
                    return (self.cast(results[0], _FLOAT16),)
                return self._with(op, specs, args, common, dtypes, shapes)
            except OpError as error:
                problem = problem or error
        assert problem is not None
        raise problem

    def _attempts(
        self, specs: Sequence[Arg], args: Mapping[str, object], first: np.dtype[Any] | None
    ) -> list[np.dtype[Any] | None]:
        """The types to compute in, in order: that of the promoted arguments, that of the result."""
        followers = [args[a.name] for a in specs if a.has_op_dtype and a.name in args]
        items = [i for f in followers for i in (f if isinstance(f, tuple) else (f,))]
        if not items:
            return [None]
        own = promoted([self._type(item) for item in items])
        if first is None or first == own:
            return [own]
        # Integer arguments with a float result are computed in float.
        return [first, own] if first.kind == "f" and own.kind != "f" else [own, first]

    def _type(self, item: Item) -> tuple[np.dtype[Any], int | None]:
        if isinstance(item, Tensor):
            return self._narrowing.dtype_of(item), len(item.shape)
        if isinstance(item, np.ndarray):
            return item.dtype, item.ndim
        if isinstance(item, SymInt | SymFloat):
            return np.dtype(np.int64 if isinstance(item, SymInt) else np.float64), None
        return np.asarray(item).dtype, None

    def _with(
        self,
        op: str,
        specs: Sequence[Arg],
        args: Mapping[str, object],
        common: np.dtype[Any] | None,
        dtypes: Types,
        shapes: Shapes,
    ) -> tuple[Value, ...]:
        cast = {a.name: self._converted(a, args[a.name], common) for a in specs if a.name in args}
        items = [i for v in cast.values() for i in (v if isinstance(v, tuple) else (v,))]
        if not any(isinstance(item, Tensor) for item in items) and not _symbolic(cast):
            return self._computed(op, specs, cast, dtypes, shapes)
        name = self.build.name
        lifted = {key: self._lifted(value, name) for key, value in cast.items()}
        wanted = None if not dtypes or dtypes[0] is None else narrow_type(dtypes[0])
        values = self.library.complete(op, lifted)
        found = self.library.infer(op, values)[0][1]
        if wanted is not None and found is not wanted:
            raise OpError(f"{op} returns {found.long_name}; expected {wanted.long_name}")
        results = self.build.emit_all(op, **lifted)
        for result, shape in zip(results, shapes, strict=False):
            if shape is not None and result.shape != shape:
                raise Unsupported(f"{op} returns {list(result.shape)}; expected {list(shape)}")
        return self._narrowing.follow(op, lifted, results, dtypes)

    def emit(self, op: str, **args: object) -> tuple[Tensor, ...]:
        """The results of a call of tensors, whose types follow from those of its arguments."""
        return self._narrowing.follow(op, args, self.build.emit_all(op, **args), ())

    def leading_part(self, array: Array, shape: tuple[int, ...]) -> Tensor:
        """A constant with a symbolic shape: the first elements of each dimension of an array."""
        tensor = self.build.leading_part(array, shape)
        self._narrowing.declare(tensor, ValueRange(array.dtype, of_array(array)))
        return tensor

    def _computed(
        self, op: str, specs: Sequence[Arg], args: dict[str, object], dtypes: Types, shapes: Shapes
    ) -> tuple[Value, ...]:
        """The results as arrays of torch's types."""
        for shape, dtype in zip(shapes, dtypes, strict=False):
            if shape is not None and dtype is not None:
                self.build.budget.check(shape, dtype.itemsize)
        made = self.library.compute(op, args)
        source = next((args[a.name] for a in specs if a.type.is_tensor and a.name in args), None)
        fallback = source.dtype if isinstance(source, np.ndarray) else None
        results = []
        for i, array in enumerate(made):
            wanted = dtypes[i] if i < len(dtypes) and dtypes[i] is not None else None
            if wanted is None and array.dtype.kind != "b":
                same = fallback is not None and fallback.kind == array.dtype.kind
                wanted = fallback if same else None
            with np.errstate(all="ignore"):
                results.append(array if wanted is None else array.astype(wanted))
            if i < len(shapes) and shapes[i] is not None and shapes[i] != array.shape:
                raise Unsupported(
                    f"{op} returns {list(array.shape)}; expected {list(shapes[i] or ())}"
                )
        return tuple(results)

    def _converted(self, arg: Arg, value: Any, common: np.dtype[Any] | None) -> Any:
        """An argument in the type of the spec's argument."""
        if isinstance(value, tuple) and arg.type is ArgType.TENSORS:
            return tuple(self._converted_one(arg, item, common) for item in value)
        return self._converted_one(arg, value, common) if arg.type is ArgType.TENSOR else value

    def _converted_one(self, arg: Arg, value: Item, common: np.dtype[Any] | None) -> Value:
        if arg.has_op_dtype and common is not None:
            return self.cast(value, common)
        if arg.dtype is not None and not arg.any_dtype:
            fixed = arg.dtype.numpy
            if fixed == np.int32:
                fixed = np.dtype(np.int64)  # torch's index type
            own = value.dtype if is_value(value) else None
            return value if own is arg.dtype else self.cast(value, fixed)
        if isinstance(value, SymInt | SymFloat):
            return self.number(value)
        return value if is_value(value) else np.asarray(value)

    def cast(self, value: Item, dtype: np.dtype[Any]) -> Value:
        """Casts a value to a torch type."""
        if isinstance(value, SymInt | SymFloat):
            return self.number(value, dtype)
        if isinstance(value, np.ndarray) and value.dtype != dtype and is_stored_float(value.dtype):
            value = self.build.constant(value)  # converted on the device: a quarter of the bytes
        if not isinstance(value, Tensor):
            return _cast_array(value, dtype)
        if self._narrowing.dtype_of(value) == dtype:
            return value
        ours = narrow_type(dtype)
        if ours is value.dtype:
            return self._narrowing.retyped(self.build, value, dtype)
        args = {"x": value, "dtype": str(ours)}
        results = self.build.emit_all("aten._to_copy", **args)
        return self._narrowing.follow("aten._to_copy", args, results, [dtype])[0]

    def number(self, value: SymInt | SymFloat, dtype: np.dtype[Any] | None = None) -> Tensor:
        """A number that depends on sizes, as a tensor of rank 0."""
        own = np.dtype(np.int64 if isinstance(value, SymInt) else np.float64)
        dtype = dtype or own
        if isinstance(value, SymFloat) and dtype.kind in "iu":
            value = truncated(value)
        bounds = number_of(value).bounds()
        if dtype.kind in "iu" and not bounds.within(exact_interval(dtype)):
            raise Unsupported(f"the values of {value} are {bounds}, which {dtype} does not hold")
        result = self.build.number(value, narrow_type(dtype))
        self._narrowing.declare(result, ValueRange(dtype, bounds))
        return result

    def _lifted(self, value: Any, name: str) -> Any:
        if isinstance(value, np.ndarray):
            return self._lifter.lift(self.build, value, f"{name}.constant")
        if isinstance(value, tuple) and any(is_value(item) for item in value):
            return tuple(self._lifted(item, name) for item in value)
        return value

    def tensor(self, value: Value, name: str) -> Tensor:
        """A value as a tensor. A generated constant becomes the result of its operator."""
        made = self.generators.get(id(value))
        if made is not None and made[0] is value:
            array, op, args = made
            dtype = str(narrow_type(array.dtype))
            try:
                return self.build.emit(op, **self._named(op, args), dtype=dtype)
            except OpError:
                pass  # the operator does not support the type: the file stores the constant
        return self._lifter.lift(self.build, value, name)

    def _named(self, op: str, args: Mapping[str, object]) -> dict[str, object]:
        """The arguments by the spec's names: given so, or positional."""
        names = [a.name for a in self.library.args(op)]
        if all(name in names for name in args):
            return dict(args)
        return dict(zip(names, args.values(), strict=False))


def _symbolic(args: Mapping[str, object]) -> bool:
    """Whether a shape or an int among the arguments is symbolic."""
    return any(is_symbolic(v if isinstance(v, tuple) else (v,)) for v in args.values())


def _exceeds_float16(args: Mapping[str, object]) -> bool:
    """Whether a scalar among the arguments overflows in float16, or loses more bits than the
    rounding of a result."""
    for value in args.values():
        if isinstance(value, int | float) or (isinstance(value, np.ndarray) and value.ndim == 0):
            size = abs(float(value))
            if _FLOAT16_MAX < size < np.inf or 0 < size < _FLOAT16_MIN:
                return True
    return False


def _cast_array(value: Item, dtype: np.dtype[Any]) -> Array:
    if not isinstance(value, np.ndarray | int | float):
        raise Unsupported(f"an argument is {type(value).__name__}; expected a tensor or a number")
    array = np.asarray(value)
    if array.dtype == dtype:
        return array
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    if limits is not None and array.ndim == 0 and array.dtype.kind in "iu":
        scalar = int(array)
        if not limits.min <= scalar <= limits.max:
            raise OpError(f"{scalar} is out of range of {dtype}")
    target = DType.of(dtype)
    if target is not None and float_format(target) is not None:
        return encoded(array, target)
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def is_stored_float(dtype: np.dtype[Any]) -> bool:
    """Whether kernels only load and store a type."""
    own = DType.of(dtype)
    return own is not None and float_format(own) is not None


def _shaped(arg: Arg, value: Any) -> Any:
    """A plain argument converted to the type of the spec's argument."""
    if isinstance(value, np.ndarray) and not arg.type.is_tensor and value.size == 1:
        value = value.reshape(-1)[0].item()
    if arg.type is ArgType.INTS:
        items = tuple(value) if isinstance(value, list | tuple) else (value,)
        if arg.length is not None and len(items) == 1:
            items *= arg.length
        if not all(isinstance(item, int) for item in items):
            raise Unsupported(f"its argument '{arg.name}' is not a list of integers")
        ints = tuple(int(item) if isinstance(item, bool) else item for item in items)
        return ints if ints or arg.length is None else None
    if arg.type is ArgType.INT and isinstance(value, bool):
        return int(value)
    if arg.type in (ArgType.FLOAT, ArgType.NUMBER) and isinstance(value, bool | int):
        return float(value)
    if arg.type is ArgType.STR and isinstance(value, np.dtype):
        return str(narrow_type(value))
    return value
