"""The signature of a spec: args, let, checks and outputs."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from spec_model.device_properties import DEVICE_PROPERTIES
from spec_model.errors import SpecError, one_of
from spec_model.expr import operations as ops
from spec_model.expr.check import parse, parse_text
from spec_model.expr.types import (
    Apply,
    Expr,
    Function,
    Kind,
    Literal,
    Origin,
    Scope,
    Value,
    Variable,
)
from spec_model.fields import Fields, as_scalar, check_name
from spec_model.spec import Arg, ArgType, Check, Let, Output
from spec_model.vocabulary import DType
from spec_model.yaml_reader import Entry, Scalar

RESERVED = frozenset(
    {"storage", "i", "inf", "dtypes", "storages", "kernel", "np", *DEVICE_PROPERTIES}
)

_TYPE = re.compile(
    r"(?P<base>tensor|int|float|number|bool|str)(?P<dtype><\w+>)?(?P<list>\[\d*\])?(?P<optional>\?)?"
)
_SIGNATURE = re.compile(r"(?P<name>\w+)\((?P<parameters>[^()]*)\)")
_KINDS = {
    ArgType.TENSOR: Kind.TENSOR,
    ArgType.TENSORS: Kind.TENSORS,
    ArgType.INT: Kind.INT,
    ArgType.FLOAT: Kind.FLOAT,
    ArgType.NUMBER: Kind.FLOAT,
    ArgType.BOOL: Kind.BOOL,
    ArgType.STR: Kind.STR,
    ArgType.INTS: Kind.INTS,
}


@dataclass(frozen=True, slots=True)
class Signature:
    """The args and outputs of an op, and the names in its kernels' expressions."""

    args: tuple[Arg, ...]
    steps: tuple[Let | Check, ...]
    outputs: tuple[Output, ...]
    scope: Scope

    def arg(self, name: str) -> Arg | None:
        """The arg of that name, or None."""
        return next((arg for arg in self.args if arg.name == name), None)


def load_signature(fields: Fields) -> Signature:
    """Reads and type-checks args, let, checks and outputs."""
    fields.need("args")
    args: tuple[Arg, ...] = ()
    for entry in fields.entries("args"):
        args = (*args, load_arg(entry, args))
    scope = Scope({arg.name: variable_of(arg) for arg in args})
    lets: list[Let] = []
    for entry in fields.entries("let"):
        function = _function(entry, scope)
        if function is not None:
            scope = scope.with_function(function)
            continue
        name = _new_name(entry.key, scope)
        let = Let(name, parse(_text(entry), scope, *_VALUES), entry.key.position)
        variable = Variable(let.value.kind, let.name, Origin.LET, let.value.length)
        scope = scope.with_variable(variable)
        lets.append(let)
    checks = [_check(as_scalar(item, "a check"), scope) for item in fields.items("checks")]
    outputs = tuple(_outputs(fields, scope))
    for output in outputs:
        scope = scope.with_variable(Variable(Kind.TENSOR, output.name, Origin.OUTPUT))
    return Signature(args, tuple(_ordered(lets, checks)), outputs, scope)


_VALUES = (Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.INTS, Kind.STR, Kind.DTYPE, Kind.TENSOR)


def variable_of(arg: Arg) -> Variable:
    """The arg as a variable of expressions."""
    return Variable(_KINDS[arg.type], arg.name, Origin.ARG, arg.length)


def _text(entry: Entry) -> Scalar:
    return as_scalar(entry.value, f"'{entry.key.text}'")


def _new_name(scalar: Scalar, scope: Scope | None) -> str:
    name = check_name(scalar, "Name")
    if name in RESERVED or keyword.iskeyword(name):
        raise SpecError.at(scalar.position, f"Name '{name}' is reserved; choose another.")
    if scope is not None and name in scope.variables:
        raise SpecError.at(scalar.position, f"Name '{name}' is in use; choose another.")
    return name


def _function(entry: Entry, scope: Scope) -> Function | None:
    """The function of an entry `NAME(PARAMETERS): EXPR` of `let`."""
    match = _SIGNATURE.fullmatch(entry.key.text)
    if match is None:
        return None
    name, *parameters = (
        replace(entry.key, text=word.strip())
        for word in (match["name"], *match["parameters"].split(","))
    )
    for word in (name, *parameters):
        _new_name(word, scope)
    if name.text in (*ops.FUNCTIONS, *scope.functions):
        raise SpecError.at(name.position, f"Function '{name.text}' exists already; rename it.")
    names = tuple(word.text for word in parameters)
    repeated = next((word for word in names if names.count(word) > 1), None)
    if repeated is not None:
        raise SpecError.at(name.position, f"Parameter '{repeated}' is repeated.")
    return Function(name.text, names, _text(entry), scope.functions, entry.key.position)


def load_arg(entry: Entry, before: tuple[Arg, ...]) -> Arg:
    """An argument `name: TYPE = DEFAULT`, after the arguments `before`."""
    name = _new_name(entry.key, None)
    scalar = _text(entry)
    text, equals, default_text = scalar.text.partition("=")
    word = text.strip()
    match = _TYPE.fullmatch(word)
    if match is None or not _fits(match):
        message = (
            f"Argument type '{word}' is not one of: tensor, tensor<DTYPE>, tensor<any>, tensor?, "
        )
        message += "tensor[], int, float, number, bool, str, int[], int[N]."
        raise SpecError.at(scalar.position, message)
    list_text = match["list"]
    length = int(list_text[1:-1]) if list_text and list_text != "[]" else None
    arg_type = ArgType(match["base"] + ("[]" if list_text else ""))
    dtype_word = (match["dtype"] or "<>")[1:-1]
    arg = Arg(
        name,
        arg_type,
        len(before),
        scalar.position,
        dtype=DType(dtype_word) if dtype_word not in ("", "any") else None,
        any_dtype=dtype_word == "any",
        optional=bool(match["optional"]),
        length=length,
    )
    if not equals:
        return arg
    return _with_default(arg, before, default_text, scalar, len(text) + 1)


def _fits(match: re.Match[str]) -> bool:
    base, list_text = match["base"], match["list"]
    if base == "tensor":
        dtype = (match["dtype"] or "<any>")[1:-1]
        known = dtype == "any" or dtype in DType.__members__.values()
        return known and list_text in (None, "[]") and not (list_text and match["optional"])
    return not match["dtype"] and not match["optional"] and (list_text is None or base == "int")


def _with_default(arg: Arg, before: tuple[Arg, ...], text: str, scalar: Scalar, offset: int) -> Arg:
    value_text = text.strip()
    at = Scalar(scalar.at(offset + len(text) - len(text.lstrip())), value_text, False, True)
    if arg.type.is_tensor:
        raise SpecError.at(
            at.position, "A tensor has no default; write 'tensor?' for an optional one."
        )
    alike = (a.name for a in before if (a.type, a.length) == (arg.type, arg.length))
    if value_text in alike:
        return replace(arg, default_of=value_text)
    return replace(arg, default=scalar_value(arg, at))


def scalar_value(arg: Arg, scalar: Scalar) -> Value:
    """The value of a non-tensor arg in a spec."""
    text = scalar.text
    match arg.type:
        case ArgType.STR:
            return text.strip("'\"")
        case ArgType.BOOL:
            if text not in ("true", "false"):
                message = f"'true' or 'false' is expected for '{arg.name}', not '{text}'."
                raise SpecError.at(scalar.position, message)
            return text == "true"
        case ArgType.INTS:
            literal = parse_text(text, scalar, Scope({}), Kind.INTS, Kind.INT)
        case _:
            literal = parse_text(text, scalar, Scope({}), _KINDS[arg.type])
    if not isinstance(literal, Literal):
        raise SpecError.at(scalar.position, f"A value is expected for '{arg.name}', not '{text}'.")
    if arg.type is not ArgType.INTS:
        return literal.value
    values = (
        literal.value if isinstance(literal.value, tuple) else (literal.value,) * (arg.length or 1)
    )
    if arg.length is not None and len(values) != arg.length:
        message = f"'{arg.name}' has {len(values)} ints; expected {arg.length}."
        raise SpecError.at(scalar.position, message)
    return values  # type: ignore[return-value]


def _check(scalar: Scalar, scope: Scope) -> Check:
    condition = parse(scalar, scope, Kind.BOOL)
    sides = None
    if isinstance(condition, Apply) and len(condition.operands) == 2:
        left, right = condition.operands
        if left.kind is right.kind is Kind.INT:
            sides = (left, right)
    return Check(scalar.text, condition, sides, scalar.position)


def _outputs(fields: Fields, scope: Scope) -> Iterator[Output]:
    entries = fields.entries("outputs")
    if not entries:
        fields.need("outputs")
        raise SpecError.at(fields.need("outputs").position, "An op has one or more outputs.")
    for index, entry in enumerate(entries):
        name = _new_name(entry.key, scope)
        if isinstance(entry.value, Scalar):
            shape, dtype = _like(entry.value, scope)
        else:
            inner = Fields.of(entry.value, f"output '{name}'", ("shape", "dtype"))
            shape = parse(inner.need_scalar("shape"), scope, Kind.INTS)
            dtype = _dtype(inner.need_scalar("dtype"), scope)
        yield Output(name, shape, dtype, index, entry.key.position)


def _like(scalar: Scalar, scope: Scope) -> tuple[Expr, Expr]:
    word, _, name = scalar.text.partition(" ")
    variable = scope.variables.get(name.strip())
    if word != "like" or variable is None or variable.kind is not Kind.TENSOR:
        tensors = one_of(n for n, v in scope.variables.items() if v.kind is Kind.TENSOR)
        message = (
            f"An output is '{{shape: EXPR, dtype: EXPR}}' or 'like ARG', ARG one of: {tensors}."
        )
        raise SpecError.at(scalar.position, message)
    return tuple(  # type: ignore[return-value]
        Apply(kind, operation, (variable,), None, variable.names)
        for kind, operation in (ops.ATTRIBUTES["shape"], ops.ATTRIBUTES["dtype"])
    )


def _dtype(scalar: Scalar, scope: Scope) -> Expr:
    if scalar.text in DType.__members__.values() and scalar.text not in scope.variables:
        return Literal(Kind.DTYPE, DType(scalar.text))
    if scalar.text.isidentifier() and scalar.text not in scope.variables:
        message = f"DType '{scalar.text}' is neither an argument nor one of: {one_of(DType)}."
        raise SpecError.at(scalar.position, message)
    return parse(scalar, scope, Kind.DTYPE)


def _ordered(lets: list[Let], checks: Iterable[Check]) -> Iterator[Let | Check]:
    """Lets in order, each check as early as possible, so that later lets can rely on it."""
    waiting = list(checks)
    known = {let.name for let in lets}
    for let in [None, *lets]:
        if let is not None:
            yield let
            known.discard(let.name)
        ready = [check for check in waiting if not check.condition.names & known]
        waiting = [check for check in waiting if check not in ready]
        yield from ready
