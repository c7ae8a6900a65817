"""Rewrites of a graph that leave what it computes unchanged (fp16 excepted: it rounds)."""

from __future__ import annotations

from spirloom.ir import Graph
from spirloom.ops import OpLibrary
from spirloom.passes.activations import fuse_activations, fuse_bias
from spirloom.passes.batch_norm import fold_batch_norm
from spirloom.passes.cleanup import merge_constants, remove_dead_nodes
from spirloom.passes.half import to_half
from spirloom.passes.large_weights import split_weights
from spirloom.passes.layer_norm import fuse_layer_norm
from spirloom.passes.padding import absorb_padding
from spirloom.passes.patterns import fuse_patterns
from spirloom.passes.views import simplify_views


def optimize(graph: Graph, library: OpLibrary, fp16: bool = False) -> None:
    """Applies every pass, in place."""
    merge_constants(graph)
    simplify_views(graph, library)
    absorb_padding(graph, library)
    fold_batch_norm(graph, library)
    fuse_patterns(graph, library)
    fuse_layer_norm(graph, library)
    fuse_bias(graph, library)
    fuse_activations(graph, library)
    finish(graph, library, fp16)


def finish(graph: Graph, library: OpLibrary, fp16: bool = False) -> None:
    """The passes that every graph file goes through, optimised or not."""
    if fp16:
        to_half(graph, library)
    split_weights(graph, library)
    remove_dead_nodes(graph)
    merge_constants(graph)
