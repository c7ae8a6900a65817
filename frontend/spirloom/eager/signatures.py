"""Signatures of operators, as a runtime's libraries declare them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from spirloom.runtime import abi
from spirloom.runtime.native import Handle, Native

Kind = Literal["tensor", "tensors", "int", "float", "bool", "ints", "str"]
Number = int | float | bool
Default = Number | str | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an operator."""

    name: str
    kind: Kind
    optional: bool  # a tensor that may be None
    default: Default | None  # None: it has no default
    default_of: str | None  # the earlier argument whose value is the default

    @property
    def required(self) -> bool:
        """Whether every call must give it."""
        return not self.optional and self.default is None and self.default_of is None

    def __str__(self) -> str:
        kind = f"{self.kind} | None = None" if self.optional else self.kind
        if self.default_of is not None:
            return f"{self.name}: {kind} = {self.default_of}"
        return f"{self.name}: {kind}" + ("" if self.default is None else f" = {self.default!r}")


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of an operator."""

    index: int  # in Runtime.operator_names()
    name: str  # "aten.add.Tensor"
    short_name: str  # "add"
    arguments: tuple[Argument, ...]
    results: int

    def __str__(self) -> str:
        return f"{self.short_name}({', '.join(map(str, self.arguments))})"


def read_signatures(library: Native, runtime: Handle) -> Iterator[Signature]:
    """The signatures of the runtime's operators."""
    for index in range(library.function("runtime_operator_count")(runtime.value)):
        info: Any = abi.Signature.new()
        library.call("runtime_signature", runtime.value, index, ctypes.byref(info))
        arguments: list[Argument] = []
        for i in range(info.argument_count):
            argument: Any = abi.SignatureArgument.new()
            library.call(
                "runtime_signature_argument", runtime.value, index, i, ctypes.byref(argument)
            )
            arguments.append(_argument(argument, arguments))
        name, short_name = info.name.decode(), info.short_name.decode()
        yield Signature(index, name, short_name, tuple(arguments), info.result_count)


_KINDS: dict[abi.ArgumentKind, Kind] = {
    abi.ArgumentKind.TENSOR: "tensor",
    abi.ArgumentKind.TENSOR_LIST: "tensors",
    abi.ArgumentKind.INT: "int",
    abi.ArgumentKind.FLOAT: "float",
    abi.ArgumentKind.BOOL: "bool",
    abi.ArgumentKind.INTS: "ints",
    abi.ArgumentKind.STRING: "str",
}


def _argument(info: Any, earlier: list[Argument]) -> Argument:
    return Argument(
        name=info.name.decode(),
        kind=_KINDS[abi.ArgumentKind(info.kind)],
        optional=info.is_optional,
        default=_default(info.default_value),
        default_of=earlier[info.default_of].name if info.default_of >= 0 else None,
    )


def _default(value: Any) -> Default | None:
    match abi.ArgumentKind(value.kind):
        case abi.ArgumentKind.INT:
            return int(value.i)
        case abi.ArgumentKind.BOOL:
            return bool(value.i)
        case abi.ArgumentKind.FLOAT:
            return float(value.f)
        case abi.ArgumentKind.INTS:
            return tuple((abi.Int * value.count).from_address(value.ints)) if value.count else ()
        case abi.ArgumentKind.STRING:
            text: str = value.s.decode()
            return text
        case _:
            return None
