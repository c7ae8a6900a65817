"""SpirloomBackend: a delegate's program becomes a graph file, when ExecuTorch lowers one."""

from __future__ import annotations

import logging
from typing import Any

from executorch.exir.backend.backend_details import (
    BackendDetails,
    CompileSpec,
    ExportedProgram,
    PreprocessResult,
)

from spirloom import graph_file
from spirloom.executorch.build import graph_of, names_in
from spirloom.executorch.edge import calls_of, read_edge
from spirloom.executorch.options import CompileOptions
from spirloom.executorch.states import with_states
from spirloom.ir import Graph
from spirloom.ops import OpLibrary
from spirloom.torch.program import Program

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
