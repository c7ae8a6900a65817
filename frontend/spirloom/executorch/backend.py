"""SpirloomBackend: compiles a delegate's program to a graph file when ExecuTorch lowers it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from executorch.exir.backend.backend_details import (
    BackendDetails,
    CompileSpec,
    ExportedProgram,
    PreprocessResult,
)

from spirloom import graph_file
from spirloom.errors import ImportFailure, SpirloomError
from spirloom.executorch.edge import calls_of, read_edge
from spirloom.executorch.options import CompileOptions
from spirloom.ir import Graph
from spirloom.ops import OpLibrary
from spirloom.sizes import Symbol
from spirloom.torch.build import build, symbols_of
from spirloom.torch.options import Options
from spirloom.torch.program import Kind, Program, Ref, SizeOf, node_name

_TAG = "delegation_tag"


def tag_states(exported: Any) -> None:
    """Gives buffers to the delegates that alone read and write them; after all calls are tagged.

    Others stay ExecuTorch's, which the delegates take and give.
    """
    signature = exported.graph_signature
    nodes = {node.name: node for node in exported.graph.nodes}
    results = [spec.arg.name for spec in signature.output_specs]
    for result, target in signature.buffers_to_mutate.items():
        buffers = [n for n, name in signature.inputs_to_buffers.items() if name == target]
        update = nodes[result]
        tag = update.meta.get(_TAG)
        if tag is None or len(buffers) != 1 or results.count(result) != 1:
            continue
        buffer = nodes[buffers[0]]
        readers = {*buffer.users, *(user for user in update.users if user.op != "output")}
        if update is not buffer and all(user.meta.get(_TAG) == tag for user in readers):
            buffer.meta[_TAG] = tag


def with_states(program: Program, exported: Any) -> Program:
    """The program of a delegate: what its buffers become are no outputs."""
    updates: dict[str, Ref] = {}
    outputs = []
    for spec, given in zip(exported.graph_signature.output_specs, program.outputs, strict=True):
        if spec.kind.name == "BUFFER_MUTATION" and isinstance(given, Ref):
            updates[spec.target] = given
        else:
            outputs.append(given)
    return replace(program, outputs=tuple(outputs), updates=updates)


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
        _check_specs(program, symbols)
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


def _check_specs(program: Program, symbols: Sequence[Symbol]) -> None:
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


log = logging.getLogger("spirloom.executorch")


class SpirloomBackend(BackendDetails):  # type: ignore[misc]
    """Its payload is a graph file (schema/graph.fbs), constants included."""

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        """Raises ImportFailure, which lists the nodes that cannot be imported."""
        options = CompileOptions.of_specs((spec.key, spec.value) for spec in compile_specs)
        library = OpLibrary()
        program = with_states(read_edge(edge_program, library), edge_program)
        graph, why = graph_of(program, library, options)
        if why:
            log.warning("A delegate takes the greatest sizes alone: %s", why)
        return PreprocessResult(
            processed_bytes=graph_file.to_bytes(graph),
            debug_handle_map=handles_of(graph, program, calls_of(edge_program)),
        )


def handles_of(graph: Graph, program: Program, nodes: list[Any]) -> dict[str, tuple[int, ...]]:
    """ExecuTorch's debug handles by the names of the graph's nodes, the runtime's ids of events.

    A node that several calls were fused into has all of theirs.
    """
    pairs = zip(names_in(program), nodes, strict=True)
    handles = {name: node.meta.get("debug_handle") for name, node in pairs}
    found = {}
    for node in graph.nodes:
        own = [handles.get(part) for part in node.name.split(" + ")]
        if any(own):
            found[node.name] = tuple(sorted({handle for handle in own if handle}))
    return found
