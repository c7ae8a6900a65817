"""The graph of a delegate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from spirloom.errors import ImportFailure, SpirloomError
from spirloom.executorch.options import CompileOptions
from spirloom.ir import Graph
from spirloom.ops import OpLibrary
from spirloom.sizes import Symbol
from spirloom.torch.build import build, symbols_of
from spirloom.torch.call_names import node_name
from spirloom.torch.options import Options
from spirloom.torch.program import Kind, Program
from spirloom.torch.size_of import SizeOf


def graph_of(program: Program, library: OpLibrary, options: CompileOptions) -> tuple[Graph, str]:
    """The graph of a delegate's program, and why it takes the greatest sizes alone, if it does.

    Raises SpirloomError.
    """
    _, symbols = symbols_of(program, Options())
    names = [given.name for given in program.inputs if given.name in program.metas]
    chosen = Options(ranges=options.intervals(names), fp16=options.force_fp16)

    def made(**sizes: Any) -> Graph:
        return build(program, library, replace(chosen, **sizes), options.fixed_storage)

    if not symbols:
        return made(), ""
    try:
        _check_told(program, symbols)
        return _varying(made, symbols), ""
    except SpirloomError as error:
        if options.require_dynamic_shapes:
            raise
        return made(sizes={s.name: s.greatest for s in symbols}), str(error)


def _varying(made: Callable[..., Graph], symbols: Sequence[Symbol]) -> Graph:
    """From size 1 on, where that goes: torch says 2 where it saw no difference."""
    wider = {s.name: Symbol(s.name, 1 if s.least == 2 else s.least, s.greatest) for s in symbols}
    try:
        return made(symbols=wider)
    except SpirloomError:
        if list(wider.values()) == list(symbols):
            raise
        return made()


def _check_told(program: Program, symbols: Sequence[Symbol]) -> None:
    """A delegate learns sizes from its inputs: each is a dimension of one."""
    shapes = [program.metas[i.name].shape for i in program.inputs if i.name in program.metas
              and i.kind is Kind.USER]  # fmt: skip
    told = {size.symbol() for shape in shapes for size in shape if isinstance(size, SizeOf)}
    for symbol in symbols:
        if symbol.name not in told:
            raise ImportFailure(f"no dimension of its inputs is the size {symbol.name} by itself")


def names_in(program: Program) -> list[str]:
    """For each call, the name that the nodes of a graph have of it."""
    modules = [call.module for call in program.calls]
    return [node_name(call, modules) for call in program.calls]
