"""The key `executorch` of a spec: the names that its op has in ExecuTorch's delegates."""

from __future__ import annotations

import re
from collections.abc import Iterable

from codegen.errors import ErrorList, SpecError, one_of
from codegen.expr.types import Value
from codegen.fields import Fields, as_int, as_mapping, as_scalar, as_sequence
from codegen.op import Op
from codegen.signature import Signature, scalar_value
from codegen.spec import Arg, ArgType, DTypeOf, Exactly, ForeignName, Place, ShapeOf
from codegen.yaml_reader import Entry, Mapping, Node, Scalar, Sequence

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_OF_TENSOR = re.compile(r"(?P<tensor>\w+)\.(?:(?P<dtype>dtype)|shape(?:\[(?P<first>\d):\])?)")
_INT = re.compile(r"[-+]?\d{1,18}")
_FLOAT = re.compile(r"[-+]?\d+\.\d*(e[-+]?\d+)?")
_PART = re.compile(r"(?P<part>[1-9]) of (?P<parts>[2-9])")
_MAX_RANK = 8
_MAX_RESULT = 8


def load_foreign_names(
    fields: Fields, own: Scalar, also: Iterable[str], signature: Signature
) -> tuple[ForeignName, ...]:
    """The names that the spec gives and, unless it does, those that are PyTorch's."""
    given = tuple(_load(item, signature) for item in fields.items("executorch"))
    known = {foreign.name for foreign in given}
    places = tuple(arg.name for arg in signature.args)
    implied = (
        ForeignName(name, own.position, places)
        for name in (own.text, *also)
        if name.startswith("aten.") and name not in known
    )
    return (*given, *implied)


def _load(item: Node, signature: Signature) -> ForeignName:
    if isinstance(item, Scalar):
        places = tuple(arg.name for arg in signature.args)
        return ForeignName(_checked_name(as_scalar(item, "a name")), item.position, places)
    entries = as_mapping(item, "a name with its arguments").entries
    if len(entries) != 1:
        raise SpecError.at(item.position, "An item of 'executorch' has one name.")
    key, value = entries[0].key, entries[0].value
    settings: tuple[Entry, ...] = ()
    rank, (part, parts) = None, (0, 1)
    result: int | str = 0
    if isinstance(value, Sequence):
        args = value
    else:
        inner = Fields.of(value, f"'{key.text}'", ("args", "set", "rank", "part", "result"))
        args = as_sequence(inner.need("args"), "'args'")
        settings = inner.entries("set")
        rank = _rank(inner.get("rank"))
        part, parts = _part(inner.get("part"))
        result = _result(inner.get("result"), signature)
    reader = _Reader(signature)
    bound = tuple(reader.place(node) for node in args.items)
    values = tuple((reader.target(e.key), reader.setting(e.key, e.value)) for e in settings)
    reader.check_complete(key)
    if isinstance(result, str) and result not in bound:
        raise SpecError.at(key.position, f"'{key.text}' changes '{result}', which no place gives.")
    name = _checked_name(key)
    return ForeignName(name, key.position, bound, values, rank, part, parts, result)


def _rank(node: Node | None) -> int | None:
    if node is None:
        return None
    rank = as_int(node, "'rank'")
    if not 0 <= rank <= _MAX_RANK:
        raise SpecError.at(node.position, f"Rank {rank} is not one of 0 to {_MAX_RANK}.")
    return rank


def _result(node: Node | None, signature: Signature) -> int | str:
    """The number of a result, or the arg that a call changes."""
    if node is None:
        return 0
    scalar = as_scalar(node, "'result'")
    if scalar.text.isdecimal() and int(scalar.text) <= _MAX_RESULT:
        return int(scalar.text)
    tensors = [arg.name for arg in signature.args if arg.type is ArgType.TENSOR]
    if scalar.text not in tensors or len(signature.outputs) != 1:
        message = f"Result '{scalar.text}' is neither one of 0 to {_MAX_RESULT} nor a tensor that "
        message += f"the op's one output may replace: {one_of(tensors)}."
        raise SpecError.at(scalar.position, message)
    return scalar.text


def _part(node: Node | None) -> tuple[int, int]:
    """Which part of how many, counted from 0."""
    if node is None:
        return 0, 1
    scalar = as_scalar(node, "'part'")
    match = _PART.fullmatch(scalar.text)
    if match is None or int(match["part"]) > int(match["parts"]):
        message = f"Part '{scalar.text}' is not one like 1 of 3."
        raise SpecError.at(scalar.position, message)
    return int(match["part"]) - 1, int(match["parts"])


def _checked_name(scalar: Scalar) -> str:
    if not _NAME.fullmatch(scalar.text):
        message = f"Name '{scalar.text}' is not one like et_vk.rms_norm or aten.view_copy."
        raise SpecError.at(scalar.position, message)
    if scalar.text.endswith(".default"):
        message = f"Name '{scalar.text}' ends in '.default', which is left out."
        raise SpecError.at(scalar.position, message)
    return scalar.text


class _Reader:
    """Reads what the arguments of a foreign call are; each of the op's gets one value."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._given: set[str] = set()

    def place(self, node: Node) -> Place:
        """What stands at one place."""
        if isinstance(node, Sequence):
            return tuple(self.target(as_scalar(item, "an argument")) for item in node.items)
        if isinstance(node, Mapping):
            raise SpecError.at(node.position, "A map is no argument.")
        if node.is_null:
            return Exactly(None)
        if node.text == "_" and not node.quoted:
            return None
        literal = _literal(node)
        return self.target(node) if literal is None else literal

    def target(self, scalar: Scalar) -> str:
        """The name of an arg that has no value yet."""
        arg = self._signature.arg(scalar.text)
        if arg is None:
            names = one_of(each.name for each in self._signature.args)
            message = f"'{scalar.text}' is not an argument of this spec; they are: {names}."
            raise SpecError.at(scalar.position, message)
        if arg.name in self._given:
            raise SpecError.at(scalar.position, f"Argument '{arg.name}' is given twice.")
        self._given.add(arg.name)
        return arg.name

    def setting(self, key: Scalar, node: Node) -> Value | ShapeOf | DTypeOf:
        """The value of an arg that no place gives."""
        arg = self._signature.arg(key.text)
        assert arg is not None
        scalar = as_scalar(node, f"'{arg.name}'")
        match = _OF_TENSOR.fullmatch(scalar.text)
        if match is None:
            if arg.type.is_tensor:
                return _tensor_number(arg, scalar)
            return scalar_value(arg, scalar)
        self._check_tensor(match["tensor"], scalar)
        wanted = ArgType.STR if match["dtype"] else ArgType.INTS
        if arg.type is not wanted:
            message = f"'{scalar.text}' is {wanted}; '{arg.name}' is {arg.type}."
            raise SpecError.at(scalar.position, message)
        if match["dtype"]:
            return DTypeOf(match["tensor"])
        return ShapeOf(match["tensor"], int(match["first"] or 0))

    def check_complete(self, name: Scalar) -> None:
        """Fails if an arg without a default gets no value."""
        for arg in self._signature.args:
            if arg.required and arg.name not in self._given:
                message = f"'{name.text}' gives argument '{arg.name}' no value; it has no default."
                raise SpecError.at(name.position, message)

    def _check_tensor(self, name: str, scalar: Scalar) -> None:
        tensors = [arg.name for arg in self._signature.args if arg.type is ArgType.TENSOR]
        tensors += [output.name for output in self._signature.outputs]
        if name not in tensors:
            message = f"'{name}' is not a tensor of this spec; they are: {one_of(tensors)}."
            raise SpecError.at(scalar.position, message)


def _tensor_number(arg: Arg, scalar: Scalar) -> Value:
    """The one number of a tensor whose dtype the spec fixes."""
    literal = _literal(scalar)
    value = None if literal is None else literal.value
    if arg.dtype is None or isinstance(value, bool) or not isinstance(value, int | float):
        message = f"A tensor is no value; leave '{arg.name}' to the call."
        raise SpecError.at(scalar.position, message)
    return value


def _literal(scalar: Scalar) -> Exactly | None:
    """The value that an argument must have; None: it is a name."""
    if scalar.quoted:
        return Exactly(scalar.text)
    if scalar.text in ("true", "false"):
        return Exactly(scalar.text == "true")
    if _INT.fullmatch(scalar.text):
        return Exactly(int(scalar.text))
    return Exactly(float(scalar.text)) if _FLOAT.fullmatch(scalar.text) else None


def check_foreign_names(ops: Iterable[Op]) -> None:
    """No two specs serve one call or part of one, and of a name's parts none is missing. Of entries
    of one spec the first that fits counts."""
    errors = ErrorList()
    known: dict[str, list[ForeignName]] = {}
    for op in ops:
        for foreign in op.foreign:
            with errors:
                _check_apart(foreign, known.get(foreign.name, ()))
        for foreign in op.foreign:
            known.setdefault(foreign.name, []).append(foreign)
    for entries in known.values():
        with errors:
            _check_whole(entries)
    errors.raise_any()


def _check_apart(foreign: ForeignName, others: Iterable[ForeignName]) -> None:
    for other in others:
        if not foreign.differs(other):
            message = f"ExecuTorch's '{foreign.name}' is served by {other.position} as well; "
            message += "give both a 'rank', or at one place values, that tell them apart."
            raise SpecError.at(foreign.position, message)


def _check_whole(entries: list[ForeignName]) -> None:
    first = entries[0]
    missing = set(range(first.parts)) - {each.part for each in entries}
    if missing:
        message = f"ExecuTorch's '{first.name}' has {first.parts} parts, and no spec is "
        message += f"part {min(missing) + 1}."
        raise SpecError.at(first.position, message)
