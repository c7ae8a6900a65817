"""Applies operators to values: brings them to one type, computes what is known, emits the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from codegen.spec import Arg, ArgType
from spirloom.builder import Builder, Lifter, Value
from spirloom.errors import Unsupported
from spirloom.ir import Array, Tensor
from spirloom.ops import OpError, OpLibrary
from spirloom.torch.narrowing import Narrowing
from spirloom.torch.values import Item, is_value, promoted
from spirloom.value_bounds import narrow_type

Types = Sequence[np.dtype[Any] | None]
Shapes = Sequence[tuple[int, ...] | None]


class Applier:
    """Appends calls to a graph, each checked against what the program says that it gives."""

    def __init__(self, build: Builder, lifter: Lifter, narrowing: Narrowing) -> None:
        self.build = build
        self.library: OpLibrary = build.library
        self._lifter = lifter
        self._narrowing = narrowing
        # By the identity of a constant what makes it, so that no file need hold it as an output.
        self.makers: dict[int, tuple[Array, str, Mapping[str, object]]] = {}

    def apply(
        self, op: str, given: Mapping[str, object], dtypes: Types, shapes: Shapes
    ) -> tuple[Value, ...]:
        """The results of an operator. Raises OpError or Unsupported.

        `dtypes` are torch's of the results, as far as they are known.
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
                return self._with(op, specs, args, common, dtypes, shapes)
            except OpError as error:
                problem = problem or error
        assert problem is not None
        raise problem

    def _attempts(
        self, specs: Sequence[Arg], args: Mapping[str, object], first: np.dtype[Any] | None
    ) -> list[np.dtype[Any] | None]:
        """The types to compute in: what the arguments promote to, then that of the result."""
        followers = [args[a.name] for a in specs if _follows(a) and a.name in args]
        items = [i for f in followers for i in (f if isinstance(f, tuple) else (f,))]
        if not items:
            return [None]
        own = promoted([self._type(item) for item in items])
        if first is None or first == own:
            return [own]
        # Of whole numbers what gives fractions is computed in these.
        return [first, own] if first.kind == "f" and own.kind != "f" else [own, first]

    def _type(self, item: Item) -> tuple[np.dtype[Any], int | None]:
        if isinstance(item, Tensor):
            return self._narrowing.dtype_of(item), len(item.shape)
        if isinstance(item, np.ndarray):
            return item.dtype, item.ndim
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
        if not any(isinstance(item, Tensor) for item in items):
            return self._computed(op, specs, cast, dtypes, shapes)
        name = self.build.name
        lifted = {key: self._lifted(value, name) for key, value in cast.items()}
        wanted = None if not dtypes or dtypes[0] is None else narrow_type(dtypes[0])
        values = self.library.complete(op, lifted)
        found = self.library.infer(op, values)[0][1]
        if wanted is not None and found is not wanted:
            raise OpError(f"{op} gives {found.long_name} of it, not {wanted.long_name}")
        results = self.build.emit_all(op, **lifted)
        for result, shape in zip(results, shapes, strict=False):
            if shape is not None and result.shape != shape:
                raise Unsupported(f"{op} gives {list(result.shape)} of it, not {list(shape)}")
        return self._narrowing.follow(op, lifted, results, dtypes)

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
                    f"{op} gives {list(array.shape)} of it, not {list(shapes[i] or ())}"
                )
        return tuple(results)

    def _converted(self, arg: Arg, value: Any, common: np.dtype[Any] | None) -> Any:
        """An argument in the type that its place wants."""
        if isinstance(value, tuple) and arg.type is ArgType.TENSORS:
            return tuple(self._converted_one(arg, item, common) for item in value)
        return self._converted_one(arg, value, common) if arg.type is ArgType.TENSOR else value

    def _converted_one(self, arg: Arg, value: Item, common: np.dtype[Any] | None) -> Value:
        if _follows(arg) and common is not None:
            return self.cast(value, common)
        if arg.dtype is not None and not arg.any_dtype:
            fixed = arg.dtype.numpy
            if fixed == np.int32:
                fixed = np.dtype(np.int64)  # what torch's indices are
            own = value.dtype if is_value(value) else None
            return value if own is arg.dtype else self.cast(value, fixed)
        return value if is_value(value) else np.asarray(value)

    def cast(self, value: Item, dtype: np.dtype[Any]) -> Value:
        """A value in one of torch's types."""
        if not isinstance(value, Tensor):
            return _cast_array(value, dtype)
        if self._narrowing.dtype_of(value) == dtype:
            return value
        ours = narrow_type(dtype)
        if ours is value.dtype:
            return self._narrowing.renamed(self.build, value, dtype)
        results = self.build.emit_all("aten._to_copy", x=value, dtype=str(ours))
        return self._narrowing.follow("aten._to_copy", {"x": value}, results, [dtype])[0]

    def _lifted(self, value: Any, name: str) -> Any:
        if isinstance(value, np.ndarray):
            return self._lifter.lift(self.build, value, f"{name}.constant")
        if isinstance(value, tuple) and any(is_value(item) for item in value):
            return tuple(self._lifted(item, name) for item in value)
        return value

    def tensor(self, value: Value, name: str) -> Tensor:
        """A value as a tensor; a constant that an operator makes is its result."""
        made = self.makers.get(id(value))
        if made is not None and made[0] is value:
            array, op, args = made
            dtype = str(narrow_type(array.dtype))
            try:
                return self.build.emit(op, **self._named(op, args), dtype=dtype)
            except OpError:
                pass  # of a type that it does not make: then the file holds it
        return self._lifter.lift(self.build, value, name)

    def _named(self, op: str, args: Mapping[str, object]) -> dict[str, object]:
        """The arguments by the spec's names, where these are the first of it."""
        names = [a.name for a in self.library.args(op)]
        if all(name in names for name in args):
            return dict(args)
        return dict(zip(names, args.values(), strict=False))


def _follows(arg: Arg) -> bool:
    """Whether a tensor argument has the type of the call."""
    return arg.type.is_tensor and arg.dtype is None and not arg.any_dtype


def _cast_array(value: Item, dtype: np.dtype[Any]) -> Array:
    if not isinstance(value, np.ndarray | int | float):
        raise Unsupported("it is given something else in place of a tensor or a number")
    array = np.asarray(value)
    if array.dtype == dtype:
        return array
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    if limits is not None and array.ndim == 0 and array.dtype.kind in "iu":
        whole = int(array)
        if not limits.min <= whole <= limits.max:
            raise OpError(f"{dtype} cannot hold {whole}")
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def _shaped(arg: Arg, value: Any) -> Any:
    """A plain argument in the form that the spec wants."""
    if isinstance(value, np.ndarray) and not arg.type.is_tensor and value.size == 1:
        value = value.reshape(-1)[0].item()
    if arg.type is ArgType.INTS:
        items = tuple(value) if isinstance(value, list | tuple) else (value,)
        if arg.length is not None and len(items) == 1:
            items *= arg.length
        if not all(isinstance(item, int) for item in items):
            raise Unsupported(f"its argument '{arg.name}' is no list of whole numbers")
        return tuple(int(item) for item in items) if items or arg.length is None else None
    if arg.type is ArgType.INT and isinstance(value, bool):
        return int(value)
    if arg.type in (ArgType.FLOAT, ArgType.NUMBER) and isinstance(value, bool | int):
        return float(value)
    if arg.type is ArgType.STR and isinstance(value, np.dtype):
        return str(narrow_type(value))
    return value
