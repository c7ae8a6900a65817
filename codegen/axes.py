"""The axes of a kernel: dtype, storage and further ones, and which combinations exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codegen.errors import SpecError
from codegen.expr import operations as ops
from codegen.expr.check import parse
from codegen.expr.scope import Scope
from codegen.expr.types import Apply, Expr, Kind, Literal, Origin, Variable
from codegen.fields import Fields, as_int, as_mapping, as_scalar, as_words, check_name
from codegen.signature import RESERVED, Signature, variable_of
from codegen.spec import Arg, Axis, AxisValue
from codegen.storages import TEXTURE, as_storages, named_storages, summary
from codegen.vocabulary import MAX_AXES, MAX_AXIS_VALUES, DType, Storage
from codegen.yaml_reader import Entry, Node, Scalar, Sequence


@dataclass(frozen=True, slots=True)
class Axes:
    """A kernel's axes in the order of ids and keys."""

    axes: tuple[Axis, ...]
    where: Expr | None
    inserted: Expr | None
    no_storage: Mapping[Storage, str]

    def named(self, name: str) -> Axis | None:
        """The axis of that name."""
        return next((axis for axis in self.axes if axis.name == name), None)


def load_axes(fields: Fields, signature: Signature) -> Axes:
    """Reads dtypes, storages, no_storage, axes, where and inserted."""
    fields.need("dtypes")
    dtypes = as_words(fields.need("dtypes"), DType, "DType")
    storages_node = fields.get("storages")
    storages: tuple[Storage, ...] = tuple(Storage)
    if storages_node is not None:
        storages = as_storages(storages_node)
    no_storage = _no_storage(fields, storages, storages_node)
    entries = {entry.key.text: entry for entry in fields.entries("axes")}
    scope = Scope(signature.scope.variables, storages=True)
    dtype_of = _own_of(entries.pop("dtype", None), scope, Kind.DTYPE)
    storage_of = _own_of(entries.pop("storage", None), scope, Kind.STORAGE)
    if dtype_of is None:
        dtype_of = _dtype_of(fields, signature, dtypes)
    axes = [Axis("dtype", dtypes, dtype_of), Axis("storage", storages, storage_of)]
    for entry in entries.values():
        if len(axes) == MAX_AXES:
            raise SpecError.at(entry.key.position, f"A kernel has at most {MAX_AXES} axes.")
        axes.append(_axis(entry, scope))
    return Axes(
        tuple(axes), _over(fields, "where", axes), _over(fields, "inserted", axes), no_storage
    )


def _no_storage(
    fields: Fields, storages: tuple[Storage, ...], storages_node: Node | None
) -> dict[Storage, str]:
    reasons: dict[Storage, str] = {}
    for entry in fields.entries("no_storage"):
        for storage in named_storages(entry.key):
            if storage in storages:
                message = f"Storage '{storage}' is in 'storages' as well as in 'no_storage'."
                raise SpecError.at(entry.key.position, message)
            reasons[storage] = as_scalar(entry.value, "a reason").text
    missing = summary([x for x in Storage if x not in storages and x not in reasons])
    if missing:
        assert storages_node is not None
        message = (
            f"Storage '{missing[0]}' is left out; say why: no_storage: {{{missing[0]}: REASON}}."
        )
        raise SpecError.at(storages_node.position, message)
    return reasons


def _own_of(entry: Entry | None, scope: Scope, kind: Kind) -> Expr | None:
    """The `of` of the axes dtype and storage, whose values stand in keys of their own."""
    if entry is None:
        return None
    inner = Fields.of(entry.value, f"axis '{entry.key.text}'", ("of",))
    return parse(inner.need_scalar("of"), scope, kind)


def _dtype_of(fields: Fields, signature: Signature, dtypes: tuple[DType, ...]) -> Expr:
    """The dtype of the first tensor that has the axis' dtype."""
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
    """Whether the arg's dtype is the value of the axis `dtype`."""
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
    if word in (*Storage, TEXTURE):
        return as_storages(node), Kind.STORAGE
    if not word.lstrip("-").isdigit():
        return as_words(node, DType, "DType"), Kind.DTYPE
    assert isinstance(node, Sequence)
    numbers = [as_int(item, f"a value of axis '{name}'") for item in node.items]
    for number, item in zip(numbers, node.items, strict=True):
        if not 0 <= number <= 9999 or numbers.count(number) > 1:
            message = f"Values of axis '{name}' are distinct ints from 0 to 9999, not {number}."
            raise SpecError.at(item.position, message)
    return tuple(numbers), Kind.INT


_AXIS_KINDS = {DType: Kind.DTYPE, Storage: Kind.STORAGE, int: Kind.INT}


def _over(fields: Fields, key: str, axes: list[Axis]) -> Expr | None:
    """A condition on combinations of axis values."""
    scalar = fields.scalar(key)
    if scalar is None:
        return None
    variables = {
        axis.name: Variable(_AXIS_KINDS[type(axis.values[0])], axis.name, Origin.AXIS)
        for axis in axes
    }
    return parse(scalar, Scope(variables), Kind.BOOL)
