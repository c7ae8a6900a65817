"""Removes what nothing reads, and joins equal constants."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable

import numpy as np

from spirloom.constants_file import bytes_of
from spirloom.ir import Array, Graph, Tensor
from spirloom.mapped import let_go
from spirloom.passes.rewrite import replace_tensors

_LOOKED_AT = 64  # elements of a constant


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
    """Makes constants of equal type, shape and bytes one.

    Only of those that look the same every byte is read: the weights of a large model are equal in
    type and shape, not in a few of their numbers.
    """
    alike: dict[Hashable, list[Tensor]] = {}
    for tensor in graph.tensors():
        if tensor.data is not None:
            alike.setdefault((tensor.dtype, *_look(tensor.data)), []).append(tensor)
    mapping: dict[Tensor, Tensor] = {}
    for tensors in alike.values():
        first: dict[bytes, Tensor] = {}
        for tensor in tensors if len(tensors) > 1 else ():
            kept = first.setdefault(_digest(tensor), tensor)
            if kept is not tensor:
                mapping[tensor] = kept
    replace_tensors(graph, mapping)


def _look(data: Array) -> tuple[Hashable, ...]:
    """What equal constants have in common, and others seldom."""
    chosen = np.linspace(0, data.size - 1, min(data.size, _LOOKED_AT), dtype=np.intp)
    return data.shape, _is_turned(data), data.flat[chosen].tobytes()


def _is_turned(data: Array) -> bool:
    return data.flags.f_contiguous and not data.flags.c_contiguous


def _digest(tensor: Tensor) -> bytes:
    assert tensor.data is not None
    # As it lies in memory, without a copy.
    stored = tensor.data.T if _is_turned(tensor.data) else tensor.data
    digest = hashlib.blake2b(bytes_of(stored), digest_size=32).digest()
    let_go(tensor.data)
    return digest
