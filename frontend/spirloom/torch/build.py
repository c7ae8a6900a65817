"""A program becomes an optimised graph, of one size or of many."""

from __future__ import annotations

from collections.abc import Mapping

from spirloom.errors import ImportFailure
from spirloom.ir import Graph, Storage
from spirloom.ops import OpLibrary
from spirloom.passes import optimize, optimize_sizes
from spirloom.sizes import Symbol
from spirloom.terminal import Report, silent
from spirloom.torch.importer import import_program
from spirloom.torch.options import Options
from spirloom.torch.program import BadSize, Kind, Program, SizeOf
from spirloom.varying.generalize import generalize


def build(
    program: Program,
    library: OpLibrary,
    options: Options,
    storage: Storage | None = None,
    report: Report = silent,
) -> Graph:
    """The graph of a program; `report` is told how far it is. Raises ImportFailure."""
    sizes, symbols = symbols_of(program, options)

    def make(chosen: Mapping[str, int]) -> Graph:
        graph = import_program(program, library, options, {**sizes, **chosen}, report)
        optimize(
            graph,
            library,
            options.fp16,
            options.skip,
            report,
            options.quantize,
            sizes_vary=bool(symbols),
        )
        for tensor in graph.tensors():
            tensor.storage = storage
        return graph

    if not symbols:
        return make({})
    return optimize_sizes(generalize(make, symbols, library), library, options.skip)


def symbols_of(program: Program, options: Options) -> tuple[dict[str, int], list[Symbol]]:
    """The sizes of fixed symbols, and the symbols that stay open."""
    used = _used(program)
    unknown = [name for name in (*options.sizes, *options.symbols) if name not in used]
    if unknown:
        known = ", ".join(used) or "none"
        raise ImportFailure(f"--dim {unknown[0]}: the program has no such size, only: {known}.")
    sizes: dict[str, int] = {}
    symbols: list[Symbol] = []
    missing: list[str] = []
    for name, place in used.items():
        if name in options.sizes:
            sizes[name] = options.sizes[name]
            continue
        own = program.symbols.get(name)
        least = own.least if own is not None and own.least is not None else 1
        greatest = own.greatest if own is not None else None
        chosen = options.symbols.get(name)
        if chosen is not None:
            least, greatest = chosen.least, chosen.greatest
        _check(name, place, own, least, greatest, chosen is not None)
        if greatest is None:
            missing.append(f"{name} ({place})")
        elif greatest == least:
            sizes[name] = least
        else:
            symbols.append(Symbol(name, max(least, 1), greatest))
    if missing:
        raise ImportFailure(
            f"{program.where} sets no greatest size of {', '.join(missing)}. Give one with "
            f"--dim {missing[0].split()[0]}=LEAST..GREATEST (in Python dims={{name: (least, "
            "greatest)}), or export with torch.export.Dim(name, min=…, max=…)."
        )
    return sizes, symbols


def _check(
    name: str, place: str, own: object, least: int, greatest: int | None, chosen: bool
) -> None:
    """The program is that of its own bounds alone: it was traced for these."""
    low, high = getattr(own, "least", None), getattr(own, "greatest", None)
    if not chosen:
        return
    # Torch says 2 where it saw no difference to 1.
    if (low is not None and low > 2 and least < low) or (
        high is not None and greatest is not None and greatest > high
    ):
        raise ImportFailure(
            f"--dim {name}={least}..{greatest}: the program was exported for {low}..{high} of it "
            f"({place})."
        )


def _used(program: Program) -> dict[str, str]:
    """The symbols of the inputs' shapes, each with a place where it stands."""
    found: dict[str, str] = {}
    for given in program.inputs:
        meta = program.metas.get(given.name)
        if given.kind is not Kind.USER or meta is None:
            continue
        for dim, size in enumerate(meta.shape):
            if isinstance(size, SizeOf):
                try:
                    names = sorted(size.symbols())
                except BadSize as error:
                    raise ImportFailure(f"Input '{given.name}': {error}.") from error
                for name in names:
                    found.setdefault(name, f"dimension {dim} of input '{given.name}'")
    return found
