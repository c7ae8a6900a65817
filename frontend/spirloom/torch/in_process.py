"""spirloom.torch.export: a module of PyTorch becomes a graph file, in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spirloom.ir import Graph
from spirloom.ops import OpLibrary
from spirloom.torch.program import Program


def export(
    module: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    output: str | Path | None = None,
    dynamic_shapes: Any = None,
    dims: Mapping[str, int | tuple[int, int]] | None = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    fp16: bool = False,
    spec_dirs: Sequence[str | Path] = (),
    strip: bool = False,
    quantize: str = "",
) -> bytes:
    """The graph file (.slg) of a module called with these arguments; also written to `output`.

    `dynamic_shapes` is torch.export's: the sizes that it leaves open are left to each run, within
    its bounds or those of `dims`. `ranges` has the numbers between which int64 inputs lie. Nodes
    have the lines of the module's code that they come from, but with `strip`. `quantize` rounds
    weights, as the option of `spirloom import` does: "int4:32", "bf16".
    Raises ImportFailure, which lists every node that cannot be imported.
    """
    from spirloom import graph_file
    from spirloom.torch.options import Options

    library = OpLibrary.with_dirs([Path(folder) for folder in spec_dirs])
    exported = decompose(exported_of(module, args, kwargs, dynamic_shapes), library)
    options = Options.of(dims or {}, ranges or {}, fp16, strip, quantize)
    graph = graph_of(program_of(exported), library, options)
    if output is not None:
        graph_file.save(graph, Path(output))
    return graph_file.to_bytes(graph)


def decompose(exported: Any, library: OpLibrary | None = None) -> Any:
    """An exported program whose operators are those that Spirloom has, as far as torch can tell.

    What torch.export.save writes of it imports to the same bytes as in process.
    """
    return exported.run_decompositions(decompositions(library or OpLibrary()))


def decompositions(library: OpLibrary) -> Any:
    """torch's table of them, without those of operators that Spirloom has."""
    import torch

    from spirloom.torch.coverage import handles

    table = torch.export.default_decompositions()
    for op in list(table.keys()):
        if handles(_name(op), library):
            table.pop(op)
    return table


def program_of(exported: Any) -> Program:
    """A torch.export.ExportedProgram in the form that archives are read to."""
    from spirloom.torch.exported import read_exported

    return read_exported(exported)


def graph_of(program: Program, library: OpLibrary, options: Any) -> Graph:
    """The optimised graph of a program."""
    from spirloom.torch.build import build

    return build(program, library, options)


def exported_of(module: Any, args: Sequence[Any], kwargs: Any, dynamic_shapes: Any) -> Any:
    """What torch.export makes of a module; an exported program as it is."""
    import torch

    if isinstance(module, torch.export.ExportedProgram):
        return module
    with torch.no_grad():
        return torch.export.export(
            module, tuple(args), dict(kwargs or {}), dynamic_shapes=dynamic_shapes, strict=False
        )


def _name(op: Any) -> str:
    from spirloom.torch.archived_calls import target_name

    return target_name(str(op))
