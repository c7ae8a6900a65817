"""Builds the optimized graph of a program, with fixed or symbolic sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spirloom.errors import ImportFailure
from spirloom.ir import Graph, Storage
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize, optimize_sizes
from spirloom.passes.fp16 import log_float32
from spirloom.sizes import Symbol
from spirloom.symbolic.open_graph import import_graph
from spirloom.terminal import Report, silent
from spirloom.torch.importer import import_program
from spirloom.torch.int_inputs import symbol_of
from spirloom.torch.options import Options
from spirloom.torch.program import InvalidSize, Kind, Program, Range, SizeExpr


def build(
    program: Program,
    library: OpLibrary,
    options: Options,
    storage: Storage | None = None,
    report: Report = silent,
) -> Graph:
    """The optimized graph of a program; `report` receives the progress. Raises ImportFailure."""
    sizes, symbols = symbols_of(program, options)

    def plain(chosen: Mapping[str, int]) -> Graph:
        return import_program(program, library, options, {**sizes, **chosen}, report)

    def optimized(graph: Graph) -> Graph:
        optimize_program(graph, library, options, storage, report, sizes_vary=bool(symbols))
        return graph

    graph = import_graph(plain, optimized, symbols, library)
    log_float32(graph, options.keep_float32)
    return optimize_sizes(graph, library, options.skip) if symbols else graph


def optimize_program(
    graph: Graph,
    library: OpLibrary,
    options: Options,
    storage: Storage | None,
    report: Report,
    sizes_vary: bool = False,
) -> None:
    """Applies the passes and the storage that the options select, in place."""
    optimize(
        graph,
        library,
        options.fp16,
        options.skip,
        report,
        options.quantize,
        sizes_vary=sizes_vary,
        keep_float32=options.keep_float32,
    )
    for tensor in graph.tensors():
        tensor.storage = storage


def symbols_of(program: Program, options: Options) -> tuple[dict[str, int], list[Symbol]]:
    """The sizes of fixed symbols, and the symbols that stay dynamic."""
    used = _used(program)
    unknown = [name for name in (*options.sizes, *options.symbols) if name not in used]
    if unknown:
        known = ", ".join(used) or "none"
        raise ImportFailure(f"--dim {unknown[0]}: the program has no such size. It has: {known}.")
    sizes: dict[str, int] = {}
    symbols: list[Symbol] = []
    missing: list[str] = []
    for name, location in used.items():
        if name in options.sizes:
            sizes[name] = options.sizes[name]
            continue
        own = program.symbols.get(name)
        # Programs state a minimum of 0 for sizes that have been traced for larger ones only.
        lowest = 0 if location.is_int else 1
        minimum = max(own.min if own is not None and own.min is not None else 0, lowest)
        maximum = own.max if own is not None else None
        chosen = options.symbols.get(name)
        if chosen is not None:
            minimum, maximum = chosen.min, chosen.max
            _check(name, location, own, minimum, maximum)
        if maximum is None:
            missing.append(f"{name} ({location})")
        elif maximum == minimum:
            sizes[name] = minimum
        else:
            symbols.append(Symbol(name, minimum, maximum))
    if missing:
        raise ImportFailure(
            f"{program.where} has no maximum for {', '.join(missing)}. Set "
            f"--dim {missing[0].split()[0]}=MIN..MAX (in Python dims={{name: (min, max)}}), or "
            "export with torch.export.Dim(name, min=…, max=…)."
        )
    return sizes, symbols


@dataclass(frozen=True, slots=True)
class _Use:
    """The first input that has a symbol. `is_int`: the symbol is an integer input."""

    text: str
    is_int: bool = False

    def __str__(self) -> str:
        return self.text


def _check(name: str, location: _Use, own: Range | None, minimum: int, maximum: int) -> None:
    """Raises ImportFailure for sizes outside those that the program was traced for."""
    low, high = (None, None) if own is None else (own.min, own.max)
    # torch.export states a minimum of 2 also for programs that are valid for 1.
    if (low is not None and low > 2 and minimum < low) or (high is not None and maximum > high):
        raise ImportFailure(
            f"--dim {name}={minimum}..{maximum}: the program was exported for {low}..{high} "
            f"({location})."
        )


def _used(program: Program) -> dict[str, _Use]:
    """The symbols in the inputs' shapes and the integer inputs, each with its first use."""
    found: dict[str, _Use] = {}
    for given in program.inputs:
        if (symbol := symbol_of(given)) is not None:
            found.setdefault(symbol, _Use(f"input '{given.name}'", is_int=True))
        meta = program.metas.get(given.name)
        if given.kind is not Kind.USER or meta is None:
            continue
        for dim, size in enumerate(meta.shape):
            if isinstance(size, SizeExpr):
                try:
                    names = sorted(size.symbols())
                except InvalidSize as error:
                    raise ImportFailure(f"Input '{given.name}': {error}.") from error
                for name in names:
                    found.setdefault(name, _Use(f"dimension {dim} of input '{given.name}'"))
    return found
