"""Buffers that runs change and that one delegate has for itself: they are states of its graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spirloom.torch.program import Program, Ref

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
