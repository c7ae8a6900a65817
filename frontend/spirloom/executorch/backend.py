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
from spirloom.executorch.edge import read_edge
from spirloom.executorch.options import CompileOptions
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.sizes import Symbol
from spirloom.torch.build import build, symbols_of
from spirloom.torch.exported_program import calls_in
from spirloom.torch.options import Options
from spirloom.torch.program import Kind, Program, Ref, SizeExpr, is_linear, node_name

_TAG = "delegation_tag"


def tag_states(exported: Any) -> None:
    """Tags each buffer that only one delegate reads and writes. Call after all calls are tagged.

    Other buffers remain in ExecuTorch's memory and are inputs and outputs of the delegates.
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
    """Converts the outputs of a delegate's program that are buffer mutations to state updates."""
    updates: dict[str, Ref] = {}
    outputs = []
    for spec, output in zip(exported.graph_signature.output_specs, program.outputs, strict=True):
        if spec.kind.name == "BUFFER_MUTATION" and isinstance(output, Ref):
            updates[spec.target] = output
        else:
            outputs.append(output)
    return replace(program, outputs=tuple(outputs), updates=updates)


def graph_of(program: Program, library: OpLibrary, options: CompileOptions) -> tuple[Graph, str]:
    """The graph of a delegate's program, and the reason for static shapes; "" if they are dynamic.

    Raises SpirloomError.
    """
    _, symbols = symbols_of(program, Options())
    names = [item.name for item in program.inputs if item.name in program.metas]
    chosen = options.of_inputs(names)

    def make(**sizes: Any) -> Graph:
        return build(program, library, replace(chosen, **sizes), options.fixed_storage)

    if not symbols:
        return make(), ""
    try:
        _check_specs(program, symbols)
        return _dynamic_graph(make, symbols), ""
    except SpirloomError as error:
        if options.require_dynamic_shapes:
            raise
        return make(sizes={s.name: s.max for s in symbols}), str(error)


def _dynamic_graph(make: Callable[..., Graph], symbols: Sequence[Symbol]) -> Graph:
    """Tries the minimum 1 where torch.export reports 2, as it specializes sizes 0 and 1."""
    wider = {s.name: Symbol(s.name, 1 if s.min == 2 else s.min, s.max) for s in symbols}
    try:
        return make(symbols=wider)
    except SpirloomError:
        if list(wider.values()) == list(symbols):
            raise
        return make()


def _check_specs(program: Program, symbols: Sequence[Symbol]) -> None:
    """Checks that each symbol is a dimension of an input, or linear in it: the delegate determines
    it from these.
    """
    shapes = [program.metas[i.name].shape for i in program.inputs if i.name in program.metas
              and i.kind is Kind.USER]  # fmt: skip
    sizes = [size for shape in shapes for size in shape if isinstance(size, SizeExpr)]
    determined = {symbol for size in sizes for symbol in size.symbols() if is_linear(size, symbol)}
    for symbol in symbols:
        if symbol.name not in determined:
            raise ImportFailure(f"no input dimension determines the dynamic size {symbol.name}")


def names_in(program: Program) -> list[str]:
    """The node name of each call."""
    modules = [call.module for call in program.calls]
    return [node_name(call, modules) for call in program.calls]


log = logging.getLogger("spirloom.executorch")


class SpirloomBackend(BackendDetails):  # type: ignore[misc]
    """Compiles a delegate to a graph file (schema/graph.fbs) that includes the constants."""

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        """Compiles the delegate. Raises ImportFailure, which lists the unsupported nodes."""
        options = CompileOptions.of_specs((spec.key, spec.value) for spec in compile_specs)
        library = options.library()
        program = with_states(read_edge(edge_program, library), edge_program)
        graph, why = graph_of(program, library, options)
        if why:
            log.warning("A delegate has static shapes, the maximum sizes: %s", why)
        return PreprocessResult(
            processed_bytes=graph_file.to_bytes(graph),
            debug_handle_map=handles_of(graph, program, calls_in(edge_program.graph.nodes)),
        )


def handles_of(graph: Graph, program: Program, nodes: list[Any]) -> dict[str, tuple[int, ...]]:
    """Maps names of graph nodes, which identify profiling events, to ExecuTorch's debug handles.

    A fused node has the handles of all its calls.
    """
    pairs = zip(names_in(program), nodes, strict=True)
    handles = {name: node.meta.get("debug_handle") for name, node in pairs}
    found = {}
    for node in graph.nodes:
        own = [handles.get(part) for part in node.name.split(" + ")]
        if any(own):
            found[node.name] = tuple(sorted({handle for handle in own if handle}))
    return found
