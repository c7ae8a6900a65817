"""The key `executorch` of a spec: the names of its op in ExecuTorch delegates."""

from __future__ import annotations

import re
from collections.abc import Iterable

from spec_model.errors import ErrorList, SpecError, one_of
from spec_model.expr.types import Value
from spec_model.fields import Fields, as_int, as_mapping, as_scalar, as_sequence
from spec_model.load.signature import Signature, scalar_value
from spec_model.op import Op
from spec_model.spec import Arg, ArgType, CallArg, DTypeOf, Exactly, ExecutorchMapping, ShapeOf
from spec_model.yaml_reader import Entry, Mapping, Node, Scalar, Sequence

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_OF_TENSOR = re.compile(r"(?P<tensor>\w+)\.(?:(?P<dtype>dtype)|shape(?:\[(?P<first>\d):\])?)")
_INT = re.compile(r"[-+]?\d{1,18}")
_FLOAT = re.compile(r"[-+]?\d+\.\d*(e[-+]?\d+)?")
_PART = re.compile(r"(?P<part>[1-9]) of (?P<parts>[2-9])")
_MAX_RANK = 8
_MAX_RESULT = 8


def load_executorch(
    fields: Fields, own: Scalar, overloads: Iterable[str], signature: Signature
) -> tuple[ExecutorchMapping, ...]:
    """The names in the spec; its `aten` names are added if they are missing."""
    given = tuple(_load(item, signature) for item in fields.items("executorch"))
    known = {mapping.name for mapping in given}
    call_args = tuple(arg.name for arg in signature.args)
    implied = (
        ExecutorchMapping(name, own.position, call_args)
        for name in (own.text, *overloads)
        if name.startswith("aten.") and name not in known
    )
    return (*given, *implied)


def _load(item: Node, signature: Signature) -> ExecutorchMapping:
    if isinstance(item, Scalar):
        call_args = tuple(arg.name for arg in signature.args)
        return ExecutorchMapping(_checked_name(as_scalar(item, "a name")), item.position, call_args)
    entries = as_mapping(item, "a name with its arguments").entries
    if len(entries) != 1:
        raise SpecError.at(item.position, "An item of 'executorch' must have one name.")
    key, value = entries[0].key, entries[0].value
    bindings: tuple[Entry, ...] = ()
    rank, (part, parts) = None, (0, 1)
    result: int | str = 0
    if isinstance(value, Sequence):
        args = value
    else:
        inner = Fields.of(value, f"'{key.text}'", ("args", "set", "rank", "part", "result"))
        args = as_sequence(inner.need("args"), "'args'")
        bindings = inner.entries("set")
        rank = _rank(inner.get("rank"))
        part, parts = _part(inner.get("part"))
        result = _result(inner.get("result"), signature)
    reader = _Reader(signature)
    bound = tuple(reader.call_arg(node) for node in args.items)
    values = tuple((reader.target(e.key), reader.binding(e.key, e.value)) for e in bindings)
    reader.check_complete(key)
    if isinstance(result, str) and result not in bound:
        raise SpecError.at(key.position, f"'{key.text}' modifies '{result}', which is not bound.")
    name = _checked_name(key)
    return ExecutorchMapping(name, key.position, bound, values, rank, part, parts, result)


def _rank(node: Node | None) -> int | None:
    if node is None:
        return None
    rank = as_int(node, "'rank'")
    if not 0 <= rank <= _MAX_RANK:
        raise SpecError.at(node.position, f"Rank {rank} is not in 0 to {_MAX_RANK}.")
    return rank


def _result(node: Node | None, signature: Signature) -> int | str:
    """The index of a result, or the arg that the call modifies."""
    if node is None:
        return 0
    scalar = as_scalar(node, "'result'")
    if scalar.text.isdecimal() and int(scalar.text) <= _MAX_RESULT:
        return int(scalar.text)
    tensors = [arg.name for arg in signature.args if arg.type is ArgType.TENSOR]
    if scalar.text not in tensors or len(signature.outputs) != 1:
        message = (
            f"Result '{scalar.text}' is neither in 0 to {_MAX_RESULT} nor, for an op with one "
        )
        message += f"output, one of: {one_of(tensors)}."
        raise SpecError.at(scalar.position, message)
    return scalar.text


def _part(node: Node | None) -> tuple[int, int]:
    """The index of the part, from 0, and the count of parts."""
    if node is None:
        return 0, 1
    scalar = as_scalar(node, "'part'")
    match = _PART.fullmatch(scalar.text)
    if match is None or int(match["part"]) > int(match["parts"]):
        message = f"Part '{scalar.text}' does not have the format '1 of 3'."
        raise SpecError.at(scalar.position, message)
    return int(match["part"]) - 1, int(match["parts"])


def _checked_name(scalar: Scalar) -> str:
    if not _NAME.fullmatch(scalar.text):
        message = f"Name '{scalar.text}' is invalid; expected a name such as et_vk.rms_norm."
        raise SpecError.at(scalar.position, message)
    if scalar.text.endswith(".default"):
        message = f"Name '{scalar.text}' ends in '.default'; remove the suffix."
        raise SpecError.at(scalar.position, message)
    return scalar.text


class _Reader:
    """Reads the arguments of an ExecuTorch call. Each arg of the op has at most one value."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._given: set[str] = set()

    def call_arg(self, node: Node) -> CallArg:
        """The meaning of one argument."""
        if isinstance(node, Sequence):
            return tuple(self.target(as_scalar(item, "an argument")) for item in node.items)
        if isinstance(node, Mapping):
            raise SpecError.at(node.position, "An argument cannot be a map.")
        if node.is_null:
            return Exactly(None)
        if node.text == "_" and not node.quoted:
            return None
        literal = _literal(node)
        return self.target(node) if literal is None else literal

    def target(self, scalar: Scalar) -> str:
        """The name of an arg, which must not have a value yet."""
        arg = self._signature.arg(scalar.text)
        if arg is None:
            names = one_of(each.name for each in self._signature.args)
            message = f"'{scalar.text}' is not an argument of this spec; they are: {names}."
            raise SpecError.at(scalar.position, message)
        if arg.name in self._given:
            raise SpecError.at(scalar.position, f"Argument '{arg.name}' has two values.")
        self._given.add(arg.name)
        return arg.name

    def binding(self, key: Scalar, node: Node) -> Value | ShapeOf | DTypeOf:
        """The value of an arg that no argument binds."""
        arg = self._signature.arg(key.text)
        assert arg is not None
        scalar = as_scalar(node, f"'{arg.name}'")
        match = _OF_TENSOR.fullmatch(scalar.text)
        if match is None:
            if arg.type.is_tensor:
                return _tensor_value(arg, scalar)
            return scalar_value(arg, scalar)
        self._check_tensor(match["tensor"], scalar)
        wanted = ArgType.STR if match["dtype"] else ArgType.INTS
        if arg.type is not wanted:
            message = f"'{scalar.text}' is {wanted}; '{arg.name}' expects {arg.type}."
            raise SpecError.at(scalar.position, message)
        if match["dtype"]:
            return DTypeOf(match["tensor"])
        return ShapeOf(match["tensor"], int(match["first"] or 0))

    def check_complete(self, name: Scalar) -> None:
        """Fails if an arg without a default has no value."""
        for arg in self._signature.args:
            if arg.required and arg.name not in self._given:
                message = (
                    f"'{name.text}' does not bind argument '{arg.name}', which has no default."
                )
                raise SpecError.at(name.position, message)

    def _check_tensor(self, name: str, scalar: Scalar) -> None:
        tensors = [arg.name for arg in self._signature.args if arg.type is ArgType.TENSOR]
        tensors += [output.name for output in self._signature.outputs]
        if name not in tensors:
            message = f"'{name}' is not a tensor of this spec; they are: {one_of(tensors)}."
            raise SpecError.at(scalar.position, message)


def _tensor_value(arg: Arg, scalar: Scalar) -> Value:
    """The scalar value of a tensor with a fixed dtype."""
    literal = _literal(scalar)
    value = None if literal is None else literal.value
    if arg.dtype is None or isinstance(value, bool) or not isinstance(value, int | float):
        message = f"Argument '{arg.name}' is a tensor; it cannot be set to a value."
        raise SpecError.at(scalar.position, message)
    return value


def _literal(scalar: Scalar) -> Exactly | None:
    """The literal that an argument must equal; None if the scalar is a name."""
    if scalar.quoted:
        return Exactly(scalar.text)
    if scalar.text in ("true", "false"):
        return Exactly(scalar.text == "true")
    if _INT.fullmatch(scalar.text):
        return Exactly(int(scalar.text))
    return Exactly(float(scalar.text)) if _FLOAT.fullmatch(scalar.text) else None


def check_executorch(ops: Iterable[Op]) -> None:
    """Fails if two specs match the same call or part of a call, or if a part is missing. Within one
    spec, the first matching entry applies."""
    errors = ErrorList()
    known: dict[str, list[ExecutorchMapping]] = {}
    for op in ops:
        for mapping in op.executorch:
            with errors:
                _check_distinct(mapping, known.get(mapping.name, ()))
        for mapping in op.executorch:
            known.setdefault(mapping.name, []).append(mapping)
    for entries in known.values():
        with errors:
            _check_complete(entries)
    errors.raise_any()


def _check_distinct(mapping: ExecutorchMapping, others: Iterable[ExecutorchMapping]) -> None:
    for other in others:
        if not mapping.differs(other):
            message = f"'{mapping.name}' is also bound at {other.position}; "
            message += "add different ranks or argument values to both."
            raise SpecError.at(mapping.position, message)


def _check_complete(entries: list[ExecutorchMapping]) -> None:
    first = entries[0]
    missing = set(range(first.parts)) - {each.part for each in entries}
    if missing:
        message = f"'{first.name}' has {first.parts} parts; no spec has "
        message += f"part {min(missing) + 1}."
        raise SpecError.at(first.position, message)
