"""The graph of a delegate."""

from __future__ import annotations

from collections.abc import Sequence

from spirloom.errors import SpirloomError
from spirloom.executorch.options import CompileOptions
from spirloom.ir import Graph
from spirloom.ops import OpLibrary
from spirloom.sizes import Symbol
from spirloom.torch.build import build, symbols_of
from spirloom.torch.importer import node_name
from spirloom.torch.options import Options
from spirloom.torch.program import Program


def graph_of(program: Program, library: OpLibrary, options: CompileOptions) -> tuple[Graph, str]:
    """The graph of a delegate's program, and why it takes the greatest sizes alone, if it does.

    Raises SpirloomError.
    """
    _, symbols = symbols_of(program, Options())
    names = [given.name for given in program.inputs if given.name in program.metas]
    ranges = options.intervals(names)
    try:
        chosen = Options(ranges=ranges, fp16=options.force_fp16)
        return build(program, library, chosen, options.fixed_storage), ""
    except SpirloomError as error:
        if options.require_dynamic_shapes or not symbols:
            raise
        why = str(error)
    chosen = Options(sizes=_greatest(symbols), ranges=ranges, fp16=options.force_fp16)
    return build(program, library, chosen, options.fixed_storage), why


def names_in(program: Program) -> list[str]:
    """For each call, the name that the nodes of a graph have of it."""
    modules = [call.module for call in program.calls]
    return [node_name(call, modules) for call in program.calls]


def _greatest(symbols: Sequence[Symbol]) -> dict[str, int]:
    return {symbol.name: symbol.greatest for symbol in symbols}
