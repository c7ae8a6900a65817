"""The integer inputs of a torch program: symbolic ints among its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from spirloom.torch.program import Input, InvalidSize, Kind, Program, SizeExpr, TensorMeta


def named_by_inputs(program: Program) -> Program:
    """The program with the names of integer inputs instead of those of their symbols, such as s77:
    options and messages refer to them.
    """
    names: dict[str, str] = {}
    for given in program.inputs:
        symbol = symbol_of(given)
        taken = {*program.symbols, *names.values()}
        if symbol is not None and symbol not in names and given.name not in taken:
            names[symbol] = given.name
    return renamed(program, names)


def renamed(program: Program, names: Mapping[str, str]) -> Program:
    """The program with other names of symbols."""
    if not names:
        return program
    return replace(
        program,
        inputs=tuple(
            replace(given, fixed=_renamed(given.fixed, names))
            if isinstance(given.fixed, SizeExpr)
            else given
            for given in program.inputs
        ),
        metas={name: _renamed_meta(meta, names) for name, meta in program.metas.items()},
        symbols={names.get(name, name): bounds for name, bounds in program.symbols.items()},
    )


def symbol_of(given: Input) -> str | None:
    """The symbol of an integer input; None for others."""
    if given.kind is not Kind.INT or not isinstance(given.fixed, SizeExpr):
        return None
    try:
        return given.fixed.symbol()
    except InvalidSize:
        return None


def _renamed(size: SizeExpr, names: Mapping[str, str]) -> SizeExpr:
    text = size.text
    for symbol, name in names.items():
        text = text.replace(f"Symbol('{symbol}'", f"Symbol('{name}'")
    return SizeExpr(text)


def _renamed_meta(meta: TensorMeta, names: Mapping[str, str]) -> TensorMeta:
    def renamed(size: int | SizeExpr) -> int | SizeExpr:
        return _renamed(size, names) if isinstance(size, SizeExpr) else size

    shape, strides = (tuple(map(renamed, sizes)) for sizes in (meta.shape, meta.strides))
    return replace(meta, shape=shape, strides=strides, storage_offset=renamed(meta.storage_offset))
