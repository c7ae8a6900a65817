"""The axes of a kernel, and the variants: the combinations of axis values that exist."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from spec_model.errors import SpecError
from spec_model.expr import operations as ops
from spec_model.expr.check import parse
from spec_model.expr.evaluation import evaluate
from spec_model.expr.types import Apply, Expr, Kind, Literal, Origin, Scope, Variable
from spec_model.fields import (
    Fields,
    as_dtypes,
    as_int,
    as_mapping,
    as_scalar,
    as_storages,
    check_name,
    named_storages,
    summary,
)
from spec_model.load.signature import RESERVED, Signature, variable_of
from spec_model.spec import Arg, Axis, AxisValue, BoundTensor, Kernel, Operand, Variant
from spec_model.vocabulary import (
    DTYPE_GROUPS,
    MAX_AXES,
    MAX_AXIS_VALUES,
    STORAGE_GROUPS,
    Capability,
    DType,
    Storage,
)
from spec_model.yaml_reader import Entry, Node, Scalar, Sequence


@dataclass(frozen=True, slots=True)
class Axes:
    """A kernel's axes, in the order of ids and keys."""

    axes: tuple[Axis, ...]
    where: Expr | None
    auto_inserted: Expr | None
    unsupported_storage: Mapping[Storage, str]

    def named(self, name: str) -> Axis | None:
        """The axis of that name."""
        return next((axis for axis in self.axes if axis.name == name), None)


def load_axes(fields: Fields, signature: Signature) -> Axes:
    """Reads dtypes, storages, unsupported_storage, axes, where and auto_inserted."""
    given = fields.get("dtypes")
    dtypes = DTYPE_GROUPS["floats"] if given is None else as_dtypes(given)
    storages, unsupported_storage = _storages(fields)
    entries = {entry.key.text: entry for entry in fields.entries("axes")}
    scope = dataclasses.replace(signature.scope, storages=True)
    dtype_of = _dtype_or_storage_of(entries.pop("dtype", None), scope, Kind.DTYPE)
    storage_of = _dtype_or_storage_of(entries.pop("storage", None), scope, Kind.STORAGE)
    if dtype_of is None:
        dtype_of = _dtype_of(fields, signature, dtypes)
    axes = [Axis("dtype", dtypes, dtype_of), Axis("storage", storages, storage_of)]
    for entry in entries.values():
        if len(axes) == MAX_AXES:
            raise SpecError.at(entry.key.position, f"A kernel has at most {MAX_AXES} axes.")
        axes.append(_axis(entry, scope))
    return Axes(
        tuple(axes),
        _condition(fields, "where", axes),
        _condition(fields, "auto_inserted", axes),
        unsupported_storage,
    )


def _storages(fields: Fields) -> tuple[tuple[Storage, ...], dict[Storage, str]]:
    """The values of the axis storage, by default all without a reason in `unsupported_storage`,
    and the reasons."""
    node = fields.get("storages")
    given = None if node is None else as_storages(node)
    reasons: dict[Storage, str] = {}
    for entry in fields.entries("unsupported_storage"):
        for storage in named_storages(entry.key):
            if given is not None and storage in given:
                message = f"Storage '{storage}' is in both 'storages' and 'unsupported_storage'."
                raise SpecError.at(entry.key.position, message)
            reasons[storage] = as_scalar(entry.value, "a reason").text
            if len(reasons) == len(Storage):
                message = (
                    "'unsupported_storage' names every storage; a kernel supports at least one."
                )
                raise SpecError.at(entry.key.position, message)
    supported = tuple(x for x in Storage if x not in reasons)
    if node is None or given is None:
        return supported, reasons
    missing = summary([x for x in supported if x not in given])
    if missing:
        message = (
            f"Storage '{missing[0]}' is missing; add it, or a reason: "
            f"unsupported_storage: {{{missing[0]}: REASON}}."
        )
        raise SpecError.at(node.position, message)
    return given, reasons


def _dtype_or_storage_of(entry: Entry | None, scope: Scope, kind: Kind) -> Expr | None:
    """The `of` of the axes dtype and storage, whose values have their own keys."""
    if entry is None:
        return None
    inner = Fields.of(entry.value, f"axis '{entry.key.text}'", ("of",))
    return parse(inner.need_scalar("of"), scope, kind)


def _dtype_of(fields: Fields, signature: Signature, dtypes: tuple[DType, ...]) -> Expr:
    """The dtype of the first tensor whose dtype is the axis'."""
    overrides = {entry.key.text: entry.value for entry in fields.entries("tensors")}
    for arg in signature.args:
        if arg.type.is_tensor and not arg.optional and has_axis_dtype(arg, overrides.get(arg.name)):
            return dtype_expression(arg)
    for output in signature.outputs:
        if not isinstance(output.dtype, Literal):
            variable = Variable(Kind.TENSOR, output.name, Origin.OUTPUT)
            return Apply(*ops.ATTRIBUTES["dtype"], (variable,), None, variable.names)
    return Literal(Kind.DTYPE, dtypes[0])


def has_axis_dtype(arg: Arg, override: Node | None) -> bool:
    """Whether the axis `dtype` determines the arg's dtype."""
    given = None
    if override is not None and not isinstance(override, Scalar | Sequence):
        given = override.get("dtype")
    if isinstance(given, Scalar):
        return given.text == "dtype"
    return arg.dtype is None


def dtype_expression(arg: Arg) -> Expr:
    """`x.dtype`, or `xs[0].dtype` for a list."""
    tensor: Expr = variable_of(arg)
    if tensor.kind is Kind.TENSORS:
        first = Literal(Kind.INT, 0)
        tensor = Apply(Kind.TENSOR, ops.INDEX_TENSORS, (tensor, first), None, tensor.names)
    return Apply(*ops.ATTRIBUTES["dtype"], (tensor,), None, tensor.names)


def _axis(entry: Entry, scope: Scope) -> Axis:
    name = check_name(entry.key, "Axis", lower=True)
    if name in RESERVED or name == "dtype":
        raise SpecError.at(entry.key.position, f"Name '{name}' is reserved; choose another.")
    inner = Fields.of(as_mapping(entry.value, f"axis '{name}'"), f"axis '{name}'", ("values", "of"))
    node = inner.need("values")
    values, kind = _values(node, name)
    if len(values) > MAX_AXIS_VALUES:
        message = f"Axis '{name}' has {len(values)} values; the limit is {MAX_AXIS_VALUES}."
        raise SpecError.at(node.position, message)
    return Axis(name, values, parse(inner.need_scalar("of"), scope, kind))


def _values(node: Node, name: str) -> tuple[tuple[AxisValue, ...], Kind]:
    first = node.items[0] if isinstance(node, Sequence) and node.items else None
    word = first.text if isinstance(first, Scalar) else ""
    if word in (*Storage, *STORAGE_GROUPS):
        return as_storages(node), Kind.STORAGE
    if not word.lstrip("-").isdigit():
        return as_dtypes(node), Kind.DTYPE
    assert isinstance(node, Sequence)
    ints = [as_int(item, f"a value of axis '{name}'") for item in node.items]
    for value, item in zip(ints, node.items, strict=True):
        if not 0 <= value <= 9999 or ints.count(value) > 1:
            message = f"Value {value} of axis '{name}' is repeated or not in 0 to 9999."
            raise SpecError.at(item.position, message)
    return tuple(ints), Kind.INT


_AXIS_KINDS = {DType: Kind.DTYPE, Storage: Kind.STORAGE, int: Kind.INT}


def _condition(fields: Fields, key: str, axes: list[Axis]) -> Expr | None:
    """A condition on combinations of axis values."""
    scalar = fields.scalar(key)
    if scalar is None:
        return None
    variables = {
        axis.name: Variable(_AXIS_KINDS[type(axis.values[0])], axis.name, Origin.AXIS)
        for axis in axes
    }
    return parse(scalar, Scope(variables), Kind.BOOL)


# By the size of an element.
_BUFFER_NEEDS = {1: Capability.STORAGE_BUFFER_8BIT, 2: Capability.STORAGE_BUFFER_16BIT}


def expand(op: str, kernel: Kernel) -> list[Variant]:
    """The kernel's variants in order of key. Fails if there are none."""
    variants = sorted(_expand(op, kernel), key=lambda variant: variant.key)
    if not variants:
        message = f"Kernel '{kernel.name}' has no variant: 'where' excludes every combination."
        raise SpecError.at(kernel.position, message)
    return variants


def _expand(op: str, kernel: Kernel) -> Iterator[Variant]:
    for combination in product(*(axis.values for axis in kernel.axes)):
        values = {a.name: value for a, value in zip(kernel.axes, combination, strict=True)}
        if kernel.where is not None and not evaluate(kernel.where, values):
            continue
        key = kernel.index << 32
        for index, axis in enumerate(kernel.axes):
            key |= axis.code(values[axis.name]) << (4 * index)
        words = [kernel.name, *(_word(axis, values[axis.name]) for axis in kernel.axes)]
        tensors = tuple(_bind(x, i, values) for i, x in enumerate(kernel.operands))
        yield Variant(
            "_".join(words), key, op, kernel, values, tensors, _capabilities(kernel, tensors)
        )


def _word(axis: Axis, value: AxisValue) -> str:
    """Part of an id: `f16`, `buffer`, or letter and value of a tuning axis."""
    return f"{axis.name[0]}{value}" if isinstance(value, int) else value.value


def _bind(operand: Operand, binding: int, values: dict[str, AxisValue]) -> BoundTensor:
    dtype, storage = operand.dtype, operand.storage
    return BoundTensor(
        operand.name,
        binding,
        dtype if isinstance(dtype, DType) else DType(str(values[dtype])),
        storage if isinstance(storage, Storage) else Storage(str(values[storage])),
        operand.access,
        operand.optional,
        operand.position,
    )


def _capabilities(kernel: Kernel, tensors: tuple[BoundTensor, ...]) -> tuple[Capability, ...]:
    needs = set(kernel.needs)
    for tensor in tensors:
        size = tensor.dtype.row.bytes
        if tensor.storage is Storage.BUFFER and size in _BUFFER_NEEDS:
            needs.add(_BUFFER_NEEDS[size])
    order = list(Capability)
    return tuple(sorted(needs, key=order.index))
