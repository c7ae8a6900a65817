"""Test cases, tolerances and domains of a spec."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Map
from dataclasses import replace
from itertools import product
from math import prod

from spec_model.errors import SpecError, one_of
from spec_model.fields import (
    Fields,
    as_bool,
    as_dtypes,
    as_float,
    as_int,
    as_scalar,
    as_sequence,
    as_storages,
)
from spec_model.load.signature import scalar_value
from spec_model.spec import (
    Arg,
    ArgType,
    CaseValue,
    Domain,
    Kernel,
    Output,
    TensorCase,
    TestCase,
    Tolerance,
)
from spec_model.spec.case import FLOATS, INTEGERS, Limits
from spec_model.vocabulary import MAX_RANK, DType
from spec_model.yaml_reader import Entry, Mapping, Node, Scalar, Sequence

_LIMITS = ("dtypes", "storages", "kernel", "uniform")
_TENSOR_KEYS = ("shape", "range", "values", "constant")
# For fp16, those of torch.testing.assert_close.
_DEFAULT_TOLERANCES: dict[DType, Tolerance] = {dtype: Tolerance(0, 0) for dtype in DType} | {
    DType.F32: Tolerance(1e-5, 1e-5),
    DType.F16: Tolerance(1e-3, 1e-5),
}
_REASON = "because"
_SIGNED_ZERO = "signed_zero"
_MAX_ELEMENTS = 1 << 28
_MAX_SWEEP = 64  # cases of one item


def load_case(
    node: Node,
    op_args: Iterable[Arg],
    kernels: Map[str, Kernel],
    shared: Map[str, CaseValue] | None = None,
) -> TestCase:
    """A case of `tests`, or of a template's `test_shapes`; `shared` contains further args."""
    op_args = [arg for arg in op_args if arg.name not in (shared or {})]
    names = [arg.name for arg in op_args]
    fields = Fields.of(node, "a test case", (*names, *_LIMITS))
    args: dict[str, CaseValue] = dict(shared or {})
    for arg in op_args:
        args[arg.name] = _arg_value(fields, arg, args)
    kernel = fields.scalar("kernel")
    if kernel is not None and kernel.text not in kernels:
        message = f"Kernel '{kernel.text}' is not one of: {one_of(kernels)}."
        raise SpecError.at(kernel.position, message)
    dtypes, storages = fields.get("dtypes"), fields.get("storages")
    return TestCase(
        args,
        frozenset(as_dtypes(dtypes)) if dtypes else None,
        frozenset(as_storages(storages)) if storages else None,
        kernel.text if kernel else None,
        node.position,
        shared is not None,
        fields.flag("uniform", False),
    )


def swept(node: Node, op_args: Iterable[Arg]) -> Iterator[Node]:
    """The cases of an item of `tests`. An argument with a list of values has one of them in each
    case; with several such arguments these are all combinations, of which the last changes first.
    """
    if not isinstance(node, Mapping):
        yield node
        return
    types = {arg.name: arg.type for arg in op_args}
    lists = [_choices(entry.value, types.get(entry.key.text)) for entry in node.entries]
    count = prod(map(len, lists))
    if count > _MAX_SWEEP:
        message = f"The lists of the case have {count} combinations; expected at most {_MAX_SWEEP}."
        raise SpecError.at(node.position, message)
    for chosen in product(*lists):
        entries = (Entry(e.key, value) for e, value in zip(node.entries, chosen, strict=True))
        yield Mapping(node.position, tuple(entries))


def _choices(node: Node, arg_type: ArgType | None) -> tuple[Node, ...]:
    """The values of an argument of a sweep; the node itself if it is one value."""
    if not isinstance(node, Sequence) or not node.items or arg_type in (None, ArgType.TENSORS):
        return (node,)
    is_list = isinstance(node.items[0], Scalar) and not node.items[0].is_null
    if arg_type in (ArgType.TENSOR, ArgType.INTS) and is_list:
        return (node,)
    return node.items


def _arg_value(fields: Fields, arg: Arg, before: Map[str, CaseValue]) -> CaseValue:
    node = fields.get(arg.name)
    if node is None:
        if not arg.required:
            return arg.default if arg.default_of is None else before[arg.default_of]
        message = f"Argument '{arg.name}' is missing from the test case."
        raise SpecError.at(fields.node.position, message)
    if arg.type is ArgType.TENSORS:
        items = as_sequence(node, f"'{arg.name}'").items
        return tuple(_tensor(item, arg.name) for item in items)
    if arg.type is ArgType.TENSOR:
        if isinstance(node, Scalar) and node.is_null and arg.optional:
            return None
        return _tensor(node, arg.name)
    if isinstance(node, Sequence) and arg.type is ArgType.INTS:
        values = tuple(as_int(item, f"'{arg.name}'") for item in node.items)
        if arg.length is not None and len(values) != arg.length:
            message = f"'{arg.name}' has {len(values)} ints; expected {arg.length}."
            raise SpecError.at(node.position, message)
        return values
    return scalar_value(arg, as_scalar(node, f"'{arg.name}'"))


def _tensor(node: Node, name: str) -> TensorCase:
    if not isinstance(node, Mapping):
        return TensorCase(_shape(node, name))
    fields = Fields.of(node, f"tensor '{name}'", _TENSOR_KEYS)
    shape = _shape(fields.need("shape"), name)
    limits, values, constant = fields.get("range"), fields.get("values"), fields.get("constant")
    return TensorCase(
        shape,
        load_range(limits) if limits else None,
        _values(values, shape) if values else None,
        as_bool(constant, "'constant'") if constant else None,
    )


def _shape(node: Node, name: str) -> tuple[int, ...]:
    sizes = tuple(as_int(item, "a size") for item in as_sequence(node, f"shape of '{name}'").items)
    elements = 1
    for size in sizes:
        elements *= size
    if len(sizes) > MAX_RANK or any(size < 0 for size in sizes) or elements > _MAX_ELEMENTS:
        message = (
            f"Shape {list(sizes)} is invalid; expected at most {MAX_RANK} sizes, none negative, "
        )
        message += f"and at most {_MAX_ELEMENTS} elements."
        raise SpecError.at(node.position, message)
    return sizes


def load_range(node: Node) -> tuple[float, float]:
    """`[LOW, HIGH]`."""
    ends = [as_float(item, "an end of a range") for item in as_sequence(node, "'range'").items]
    if len(ends) != 2 or not ends[0] <= ends[1]:
        raise SpecError.at(node.position, "A range must be [LOW, HIGH] with LOW <= HIGH.")
    return (ends[0], ends[1])


def _values(node: Node, shape: tuple[int, ...]) -> tuple[float, ...]:
    values = tuple(_value(item) for item in as_sequence(node, "'values'").items)
    count = 1
    for size in shape:
        count *= size
    if len(values) != count:
        message = f"Shape {list(shape)} has {count} elements, but there are {len(values)} values."
        raise SpecError.at(node.position, message)
    return values


def _value(node: Node) -> float:
    if isinstance(node, Scalar) and node.text in ("true", "false"):
        return float(node.text == "true")
    return as_float(node, "a value")


def load_tolerance(fields: Fields) -> dict[DType, Tolerance]:
    """The tolerances of every dtype. Values above the defaults require a reason."""
    node = fields.get("tolerance")
    if node is None:
        return dict(_DEFAULT_TOLERANCES)
    given = Fields.of(node, "'tolerance'", (*DType, _REASON, _SIGNED_ZERO))
    result = dict(_DEFAULT_TOLERANCES)
    for dtype in DType:
        value = given.get(dtype)
        if value is None:
            continue
        result[dtype] = _tolerance(value)
        if result[dtype].exceeds(_DEFAULT_TOLERANCES[dtype]) and given.scalar(_REASON) is None:
            message = f"The tolerance of {dtype} exceeds the default, "
            message += f"{_DEFAULT_TOLERANCES[dtype]}; add the reason as '{_REASON}'."
            raise SpecError.at(value.position, message)
    if given.flag(_SIGNED_ZERO, False):
        return {dtype: replace(each, signed_zero=True) for dtype, each in result.items()}
    return result


def _tolerance(node: Node) -> Tolerance:
    if isinstance(node, Scalar):
        both = as_float(node, "a tolerance")
        return Tolerance(both, both)
    inner = Fields.of(node, "a tolerance", ("rtol", "atol"))
    rtol = as_float(inner.need("rtol"), "'rtol'")
    return Tolerance(rtol, as_float(inner.need("atol"), "'atol'"))


_AS_TESTED = "tests"


def load_domain(fields: Fields, args: Iterable[Arg], outputs: Iterable[Output]) -> Domain:
    """Limits by tensor argument, or for all floats or integers; by default all values."""
    node = fields.get("domain")
    if node is None:
        return Domain({})
    tensors = [arg.name for arg in args if arg.type.is_tensor and arg.dtype is None]
    given = Fields.of(node, "'domain'", (*tensors, FLOATS, INTEGERS))
    names = [output.name for output in outputs]
    return Domain({entry.key.text: _limits(entry.value, names) for entry in given.node.entries})


def _limits(node: Node, outputs: list[str]) -> Limits:
    if not isinstance(node, Scalar):
        return load_range(node)
    if node.text == _AS_TESTED:
        return None
    if node.text not in outputs:
        message = f"A domain must be [LOW, HIGH], '{_AS_TESTED}' or the name of an output "
        message += f"({one_of(outputs)}), not '{node.text}'."
        raise SpecError.at(node.position, message)
    return node.text
