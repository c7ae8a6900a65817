"""The available operators, as the op specs define them: argument order, shapes, kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Generic, TypeVar, cast

import numpy as np

from spec_model import EvalError, Op, SpecError, TensorType, load_library, stored
from spec_model.spec import Arg, ExecutorchMapping, OnnxMapping
from spec_model.stored_float import decoded, float_format
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES, ROOT
from spec_model.traits import MOVEMENT, Trait
from spirloom.errors import ImportFailure
from spirloom.ir import ArgValue, Array, DType, Node, Tensor
from spirloom.number_expr import SymFloat
from spirloom.sizes import Varying
from spirloom.value_bounds import narrow_type

STORED = ROOT / "ops.pickle"  # The built-in operators in a wheel (cmake/make_package.py)


class OpError(Exception):
    """A call that no operator supports. The message gives the reason."""


OWN_SPECS, OWN_TEMPLATES = (BUILTIN_SPECS,), (BUILTIN_TEMPLATES,)


_Outputs = tuple[tuple[tuple[int, ...], DType], ...]
_Movement = tuple[tuple[int, ...], tuple[int, ...], int]
_MAX_MEMOS = 10_000
T = TypeVar("T")


class _Memo(Generic[T]):
    """Results by operator and argument types."""

    def __init__(self) -> None:
        self._found: dict[object, T] = {}

    def of(self, op: str, types: Sequence[object], compute: Callable[[], T]) -> T:
        key = op, _typed(tuple(types))
        if key not in self._found:
            if len(self._found) >= _MAX_MEMOS:
                self._found.clear()
            self._found[key] = compute()
        return self._found[key]


class OpLibrary:
    """The operators of spec directories. By default the built-in ones."""

    def __init__(
        self, spec_dirs: Sequence[Path] = OWN_SPECS, template_dirs: Sequence[Path] = OWN_TEMPLATES
    ) -> None:
        self._ops: Mapping[str, Op]
        own = (tuple(spec_dirs), tuple(template_dirs)) == (OWN_SPECS, OWN_TEMPLATES)
        if own and STORED.exists():
            self._ops = stored.load(STORED, OWN_SPECS[0])
        else:
            self._ops = _loaded(spec_dirs, template_dirs)
        self._serving = {
            name: op.name for op in self._ops.values() for name in (op.name, *op.overloads)
        }
        self._onnx = {m.name: (op.name, m) for op in self._ops.values() for m in op.onnx}
        # Networks repeat calls of equal types.
        self._inferred = _Memo[_Outputs]()
        self._movements = _Memo[_Movement | None]()
        self._calls = _Memo[tuple[dict[str, object], _Outputs]]()

    @classmethod
    def with_dirs(cls, directories: Sequence[Path]) -> OpLibrary:
        """The built-in operators, those of further spec directories, and those of installed
        packages, which name their directories by an entry point of the group `spirloom.specs`.

        Templates are searched in the directory, and in `glsl/` or `templates/` below or next to it.
        """
        directories = [*directories, *_installed()]
        templates = [
            candidate
            for directory in directories
            for candidate in (directory, *(base / name for base in (directory, directory.parent)
                                    for name in ("glsl", "templates", "templates/glsl")))
            if candidate.is_dir() and any(candidate.glob("*.j2"))
        ]  # fmt: skip
        for directory in directories:
            if not directory.is_dir():
                raise ImportFailure(f"The spec directory {directory} does not exist.")
        if not directories:
            return own_library()
        return cls([*OWN_SPECS, *directories], [*OWN_TEMPLATES, *templates])

    def names(self) -> list[str]:
        """All operators, sorted."""
        return sorted(self._ops)

    def has(self, op: str) -> bool:
        """Whether the operator exists."""
        return op in self._ops

    def serving(self, name: str) -> str | None:
        """The operator for calls of this name: the operator itself, or one whose spec lists the
        name.
        """
        return self._serving.get(name)

    def executorch(self, name: str) -> list[tuple[str, ExecutorchMapping]]:
        """The mappings of a name of ExecuTorch delegates, each with its operator."""
        return [(op.name, f) for op in self._ops.values() for f in op.executorch if f.name == name]

    @property
    def onnx(self) -> Mapping[str, tuple[str, OnnxMapping]]:
        """The ONNX operators that an operator computes alone: name → operator and mapping."""
        return self._onnx

    def is_view(self, op: str) -> bool:
        """Whether the operator's output shares the elements of an input."""
        return self.spec(op).view_of is not None

    def has_trait(self, op: str, trait: Trait, args: Mapping[str, object] | None = None) -> bool:
        """Whether an operator has a trait in every call, or in the call with these arguments."""
        if op not in self._ops:
            return False
        types = args and {name: argument_type(value) for name, value in args.items()}
        return self._ops[op].has_trait(trait, types)

    def facts(self, op: str) -> dict[str, tuple[str, ...]]:
        """The traits of an operator, and its names in other formats, for people."""
        spec = self.spec(op)
        found = {"Traits": spec.trait_texts, **spec.foreign_names}
        return {what: names for what, names in found.items() if names}

    def returns_integers(self, op: str) -> bool:
        """Whether all outputs have a fixed integer or bool dtype."""
        return all(dtype and not dtype.is_float for dtype in self.output_dtypes(op))

    def output_dtypes(self, op: str) -> list[DType | None]:
        """The dtypes of an operator's outputs. None: it differs between calls."""
        return [output.fixed_dtype for output in self.spec(op).outputs]

    def updated_args(self, op: str) -> tuple[int | None, ...]:
        """By output, the index of the argument that it can update in place."""
        return self.spec(op).in_place

    def value_tensors(self, op: str, args: Mapping[str, object]) -> list[Tensor]:
        """The tensors of a call that have the operator's dtype: not its indices and conditions."""
        found = []
        for arg in self.spec(op).args:
            value = args.get(arg.name)
            if arg.has_op_dtype:
                items = value if isinstance(value, tuple) else (value,)
                found += [item for item in items if isinstance(item, Tensor)]
        return found

    def spec(self, op: str) -> Op:
        """The operator, with its formulas. Raises OpError if there is none."""
        if op not in self._ops:
            raise OpError(f"it requires the operator {op}, which has no spec in op_specs/")
        return self._ops[op]

    def arg_names(self, op: str) -> list[str]:
        """The names of an operator's arguments, in order."""
        return [arg.name for arg in self.spec(op).args]

    def args(self, op: str) -> tuple[Arg, ...]:
        """An operator's arguments, in order."""
        return self.spec(op).args

    def output_names(self, op: str) -> list[str]:
        """The names of an operator's outputs, in order."""
        return [output.name for output in self.spec(op).outputs]

    def compute(self, op: str, args: Mapping[str, object]) -> list[Array]:
        """The results of an operator for arrays, by its reference: floats as float64, ints as
        int64.

        `args` are by name, with arrays for tensors. Raises OpError if the call is invalid.
        """
        completed, _ = self.completed(op, args)
        with np.errstate(all="ignore"):
            return self.evaluate(
                op, completed, {name: _reference_argument(value) for name, value in args.items()}
            )

    def completed(self, op: str, args: Mapping[str, object]) -> tuple[dict[str, object], _Outputs]:
        """All arguments of a call of arrays or constants, without data, and the shape and dtype of
        each result. Raises OpError if the call is invalid."""
        types = {name: argument_type(value) for name, value in args.items()}
        spec = self.spec(op)

        def checked() -> tuple[dict[str, object], _Outputs]:
            outputs = tuple((tuple(o.shape), o.dtype) for o in spec.infer(types))
            return spec.complete(types), outputs

        try:
            return self._calls.of(op, tuple(types.items()), checked)
        except EvalError as error:
            raise OpError(f"{op} cannot compute it: {error}") from error

    def evaluate(
        self, op: str, completed: Mapping[str, object], values: Mapping[str, object]
    ) -> list[Array]:
        """The results of an operator's reference for the values of arguments, in their types.
        `completed` are all arguments of the call. Raises OpError if the reference fails."""
        try:
            return self.spec(op).reference({n: values.get(n, v) for n, v in completed.items()})
        except (SpecError, NotImplementedError) as error:
            raise OpError(f"{op} cannot be computed at import: {error}") from error

    def tolerance(self, op: str, dtype: DType) -> float:
        """The relative tolerance of an operator's results, as its tests use it."""
        return self.spec(op).tolerance[dtype].rtol

    def kernel_names(self, op: str) -> tuple[str, ...]:
        """The kernels of an operator in order of preference. The last ones have the fewest
        conditions.
        """
        return tuple(kernel.name for kernel in self.spec(op).kernels)

    def arg(self, node: Node, name: str) -> ArgValue:
        """The argument of a node with that name."""
        return node.args[self.arg_names(node.op).index(name)]

    def named_args(self, node: Node) -> dict[str, ArgValue]:
        """The arguments of a node, by name."""
        return dict(zip(self.arg_names(node.op), node.args, strict=True))

    def has_arg(self, op: str, name: str) -> bool:
        """Whether the operator exists and has such an argument."""
        return self.has(op) and name in self.arg_names(op)

    def is_plain(self, node: Node) -> bool:
        """Whether every argument of a node that has a default has that value."""
        given = zip(self.spec(node.op).args, node.args, strict=True)
        return all(arg.default is None or value == arg.default for arg, value in given)

    def with_args(self, node: Node, **changes: ArgValue) -> tuple[ArgValue, ...]:
        """The arguments of a node, some of them replaced."""
        names = self.arg_names(node.op)
        return tuple(changes.get(n, v) for n, v in zip(names, node.args, strict=True))

    def complete(self, op: str, args: Mapping[str, object]) -> tuple[ArgValue, ...]:
        """Arguments in schema order, with defaults, and values converted to the schema's types."""
        spec = self.spec(op)
        try:
            typed = spec.complete({name: argument_type(value) for name, value in args.items()})
        except EvalError as error:
            raise OpError(str(error)) from error
        return tuple(_restored(args.get(name), value) for name, value in typed.items())

    def infer(self, op: str, args: Sequence[ArgValue]) -> list[tuple[tuple[int, ...], DType]]:
        """Shape and dtype of each output. Raises OpError if the call is invalid or has no
        kernel.
        """
        args = [arg.value if isinstance(arg, SymFloat) else arg for arg in args]
        types = [argument_type(value) for value in args]
        return list(self._inferred.of(op, types, lambda: self._infer(op, args, types)))

    def _infer(self, op: str, args: Sequence[ArgValue], types: Sequence[object]) -> _Outputs:
        spec = self.spec(op)
        values = {arg.name: value for arg, value in zip(spec.args, types, strict=True)}
        try:
            outputs, has_kernel = spec.infer_for_kernels(values)
        except EvalError as error:
            raise OpError(f"{op} cannot compute it: {error}") from error
        if not has_kernel:
            given = ", ".join(str(arg) for arg in args if isinstance(arg, Tensor))
            raise OpError(f"{op} has no kernel for {given}")
        return tuple((tuple(o.shape), o.dtype) for o in outputs)

    def supports(self, op: str, args: Sequence[ArgValue]) -> bool:
        """Whether the call is valid and has a kernel."""
        try:
            self.infer(op, args)
        except OpError:
            return False
        return True

    def movement(self, op: str, args: Sequence[ArgValue]) -> _Movement | None:
        """(sizes, strides, begin) of a valid call that only moves elements: the result element with
        coordinates p is the source element at begin + sum(p[d] * strides[d]).

        None for other operators, and if it has no formula of symbolic sizes. The source is the
        first argument.
        """
        types = [argument_type(value) for value in args]
        return self._movements.of(op, types, lambda: self._movement(op, types))

    def _movement(self, op: str, types: Sequence[object]) -> _Movement | None:
        spec = self._ops.get(op)
        if spec is None or not spec.has_trait(Trait.MOVES_DATA):
            return None
        given = zip(spec.args, types, strict=True)
        values = spec.values({arg.name: value for arg, value in given})
        found = tuple(values[name] for name in MOVEMENT if name in values)
        return cast(_Movement, found) if len(found) == len(MOVEMENT) else None

    def params(self, op: str) -> Mapping[str, object]:
        """The parameters that the spec passes to the template of an operator's first kernel."""
        return self.spec(op).kernels[0].params

    def view_source(self, node: Node) -> Tensor | None:
        """The input whose elements the node's output shares, for a view."""
        index = self._ops[node.op].view_of if node.op in self._ops else None
        value = None if index is None else node.args[index]
        return value if isinstance(value, Tensor) else None


def _installed() -> list[Path]:
    """The spec directories of installed packages. An entry point holds a path as str or Path."""
    return [Path(str(point.load())) for point in entry_points(group="spirloom.specs")]


@cache
def own_library() -> OpLibrary:
    """The built-in operators, read once per process. A library is immutable."""
    return OpLibrary()


def _loaded(spec_dirs: Sequence[Path], template_dirs: Sequence[Path]) -> Mapping[str, Op]:
    try:
        return load_library(list(spec_dirs), list(template_dirs)).ops
    except SpecError as error:
        raise ImportFailure(*str(error).splitlines()) from error


def argument_type(value: object) -> object:
    """An argument for shape inference: the shape and dtype of a tensor."""
    if isinstance(value, Tensor):
        return TensorType(value.shape, value.dtype)
    if isinstance(value, np.ndarray):
        return TensorType(value.shape, narrow_type(value.dtype))
    if isinstance(value, list | tuple):
        return tuple(argument_type(v) for v in value)
    return value


def _typed(value: object) -> object:
    """The value as a key: 1, 1.0 and True differ."""
    if type(value) is int:
        return int, value
    if isinstance(value, list | tuple):
        return tuple(map(_typed, value))
    if isinstance(value, TensorType):
        return _typed(value.shape), value.dtype, value.present
    if isinstance(value, Varying):
        return value, value.expr
    return type(value), value


def _reference_argument(value: object) -> object:
    """An argument for references."""
    if isinstance(value, np.ndarray):
        dtype = DType.of(value.dtype)
        if dtype is not None and float_format(dtype) is not None:
            return decoded(value, dtype).astype(np.float64)
        kinds = {"f": np.float64, "b": np.bool_}
        return value.astype(kinds.get(value.dtype.kind, np.int64), copy=False)
    if isinstance(value, tuple) and any(isinstance(item, np.ndarray) for item in value):
        return [_reference_argument(item) for item in value]
    return value


def _restored(given: object, typed: object) -> ArgValue:
    """A completed argument, with its original tensors."""
    if isinstance(given, Tensor):
        return given
    if isinstance(given, Sequence) and given and isinstance(given[0], Tensor):
        return tuple(given)
    return cast(ArgValue, typed)
