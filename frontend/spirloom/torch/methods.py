"""Several programs of one module become the methods of one file."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from spirloom.errors import ImportFailure
from spirloom.ir import Graph
from spirloom.ops import OpLibrary
from spirloom.torch.in_process import decompose, exported_of, graph_of, program_of
from spirloom.torch.options import Options
from spirloom.torch.program import Program
from spirloom.torch.states import updates_of


def export_methods(
    module: Any,
    methods: Mapping[str, tuple[Sequence[Any], Any]],
    *,
    output: str | Path | None = None,
    dims: Mapping[str, int | tuple[int, int]] | None = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    fp16: bool = False,
    spec_dirs: Sequence[str | Path] = (),
    strip: bool = False,
) -> bytes:
    """The graph file of several methods of a module, over one set of weights and states.

    `methods` has for each name the arguments and torch.export's `dynamic_shapes`, or None. A method
    is the module's of that name, else its forward(). Buffers that any of them changes are states of
    all. Otherwise as export(), with `dims` and `ranges` for those methods that have such names.
    """
    from spirloom import graph_file

    library = OpLibrary.with_dirs([Path(folder) for folder in spec_dirs])
    programs = {
        name: program_of(decompose(exported_method(module, name, args, shapes), library))
        for name, (args, shapes) in methods.items()
    }
    graphs = graphs_of(programs, library, dims or {}, ranges or {}, fp16, strip)
    if output is not None:
        graph_file.save(graphs, Path(output))
    return graph_file.to_bytes(*graphs)


def exported_method(module: Any, name: str, args: Sequence[Any], dynamic_shapes: Any) -> Any:
    """What torch.export makes of a module's method of this name, or of its forward()."""
    with _as_forward(module, name):
        return exported_of(module, args, None, dynamic_shapes)


@contextmanager
def _as_forward(module: Any, name: str) -> Iterator[None]:
    """The module with that method in the place of forward(), which is all that is exported.

    Not within the method, which may call the module itself.
    """
    method: Any = getattr(module, name, None)
    if not callable(method) or name == "forward":
        yield
        return
    own = {key: value for key, value in module.__dict__.items() if key == "forward"}

    @functools.wraps(method)
    def forward(*args: Any, **kwargs: Any) -> Any:
        with _forward(module, own):
            return method(*args, **kwargs)

    with _forward(module, {"forward": forward}):
        yield


@contextmanager
def _forward(module: Any, attributes: dict[str, Any]) -> Iterator[None]:
    """The module with this forward() of its own, or with its class's."""
    before = module.__dict__.pop("forward", None)
    module.__dict__.update(attributes)
    try:
        yield
    finally:
        module.__dict__.pop("forward", None)
        if before is not None:
            module.__dict__["forward"] = before


def graphs_of(
    programs: Mapping[str, Program],
    library: OpLibrary,
    dims: Mapping[str, int | tuple[int, int]],
    ranges: Mapping[str, tuple[int, int]],
    fp16: bool,
    strip: bool,
) -> list[Graph]:
    """The graphs of the programs, each with the options whose names it knows."""
    states = frozenset(name for p in programs.values() for name in updates_of(p))
    known = {name: _names(program, states) for name, program in programs.items()}
    for given in (*dims, *ranges):
        if not any(given in names for names in known.values()):
            raise ImportFailure(f"No method has a size, an input or a state named '{given}'.")
    graphs = []
    for name, program in programs.items():
        own_dims = {key: value for key, value in dims.items() if key in known[name]}
        own_ranges = {key: value for key, value in ranges.items() if key in known[name]}
        options = Options.of(own_dims, own_ranges, fp16, strip)
        graph = graph_of(replace(program, kept=states), library, options)
        graph.name = name
        graphs.append(graph)
    return graphs


def _names(program: Program, states: frozenset[str]) -> set[str]:
    inputs = {given.name for given in program.inputs}
    weights = {given.target for given in program.inputs} & states
    return {*program.symbols, *inputs, *weights}
