"""Removes what nothing reads, and joins equal constants."""

from __future__ import annotations

import hashlib

from spirloom.constants_file import bytes_of
from spirloom.ir import Graph, Tensor
from spirloom.mapped import let_go
from spirloom.passes.rewrite import replace_tensors


def remove_dead_nodes(graph: Graph) -> None:
    """Drops nodes whose outputs no result of the graph depends on."""
    needed = set(graph.results())
    kept = []
    for node in reversed(graph.nodes):
        if any(t in needed for t in node.outputs):
            needed.update(node.inputs())
            kept.append(node)
    graph.nodes = kept[::-1]


def merge_constants(graph: Graph) -> None:
    """Makes constants of equal type, shape and bytes one."""
    first: dict[tuple[str, tuple[int, ...], bool, bytes], Tensor] = {}
    mapping: dict[Tensor, Tensor] = {}
    for tensor in graph.tensors():
        if tensor.data is None:
            continue
        turned = tensor.data.flags.f_contiguous and not tensor.data.flags.c_contiguous
        stored = tensor.data.T if turned else tensor.data  # as it lies in memory, without a copy
        digest = hashlib.blake2b(bytes_of(stored), digest_size=32).digest()
        let_go(tensor.data)
        kept = first.setdefault((tensor.dtype, tensor.shape, turned, digest), tensor)
        if kept is not tensor:
            mapping[tensor] = kept
    replace_tensors(graph, mapping)
