"""Rewrites of a graph that leave what it computes unchanged, but for those that round: fp16 and
quantising."""

from __future__ import annotations

from collections.abc import Callable, Collection

from spirloom.ir import Graph
from spirloom.ops import OpLibrary
from spirloom.passes.activations import fuse_activations, fuse_bias
from spirloom.passes.attention import simplify_attention
from spirloom.passes.batch_norm import fold_batch_norm
from spirloom.passes.chains import fuse_chains
from spirloom.passes.cleanup import merge_constants, remove_dead_nodes
from spirloom.passes.copies import fold_copies
from spirloom.passes.gates import fuse_gates
from spirloom.passes.gelu import fuse_gelu
from spirloom.passes.half import to_half
from spirloom.passes.integer_layers import fuse_integers
from spirloom.passes.large_weights import LARGEST_WEIGHT, split_weights
from spirloom.passes.layer_norm import fuse_layer_norm
from spirloom.passes.layer_rows import move_rows
from spirloom.passes.padding import absorb_padding
from spirloom.passes.patterns import fuse_patterns
from spirloom.passes.permutations import move_permutations
from spirloom.passes.quantised import fuse_quantised
from spirloom.passes.quantize_weights import Quantisation, quantize_weights
from spirloom.passes.residuals import fuse_residuals
from spirloom.passes.rms_norm import fuse_rms_norm
from spirloom.passes.rotary import fuse_rotary
from spirloom.passes.spelled_attention import fuse_attention
from spirloom.passes.strided_attention import stride_attention
from spirloom.passes.tied_tables import tie_tables
from spirloom.passes.views import simplify_views
from spirloom.progress import Report, silent

# What makes a graph faster, in order; each can be left out.
OPTIMIZATIONS: dict[str, Callable[[Graph, OpLibrary], None]] = {
    "fuse-integers": fuse_integers,
    "fuse-quantised": fuse_quantised,
    "simplify-views": simplify_views,
    "absorb-padding": absorb_padding,
    "fold-batch-norm": fold_batch_norm,
    "fuse-patterns": fuse_patterns,
    "fuse-gelu": fuse_gelu,
    "fuse-layer-norm": fuse_layer_norm,
    "fuse-rms-norm": fuse_rms_norm,
    "fuse-rotary": fuse_rotary,
    "fuse-attention": fuse_attention,
    "simplify-attention": simplify_attention,
    "move-permutations": move_permutations,
    "fuse-gates": fuse_gates,
    "fuse-bias": fuse_bias,
    "move-rows": move_rows,
    "fuse-residuals": fuse_residuals,
    "fuse-activations": fuse_activations,
    "fuse-chains": fuse_chains,
    "stride-attention": stride_attention,
    "fold-copies": fold_copies,
}

# Those that take a graph of all its sizes, as they find how what they make follows from these.
OF_ALL_SIZES = ("stride-attention", "fold-copies")


def optimize(
    graph: Graph,
    library: OpLibrary,
    fp16: bool = False,
    skip: Collection[str] = (),
    report: Report = silent,
    quantize: Quantisation | None = None,
    sizes_vary: bool = False,
) -> None:
    """Applies every pass but those to skip, in place; `report` is told which.

    `sizes_vary`: the graph is one of several sizes from which one of all will be made. The passes
    that take that one wait for `optimize_sizes`.
    """
    if quantize is not None:
        quantize.check(fp16)
    report("merge-constants")
    merge_constants(graph)
    skip = {*skip, *OF_ALL_SIZES} if sizes_vary else skip
    for name, rewrite in OPTIMIZATIONS.items():
        if name not in skip:
            report(name)
            rewrite(graph, library)
    if quantize is not None:
        report("quantize")
        quantize_weights(graph, library, quantize)
    report("finish")
    finish(graph, library, fp16)


def optimize_sizes(graph: Graph, library: OpLibrary, skip: Collection[str] = ()) -> Graph:
    """Applies, in place, the passes that take a graph of all its sizes; returns the graph."""
    for name in OF_ALL_SIZES:
        if name not in skip:
            OPTIMIZATIONS[name](graph, library)
    return graph


def finish(
    graph: Graph, library: OpLibrary, fp16: bool = False, largest: int = LARGEST_WEIGHT
) -> None:
    """The passes that every graph file goes through, optimised or not.

    Layers and tables whose weight takes more than `largest` bytes come in parts.
    """
    if fp16:
        to_half(graph, library)
    split_weights(graph, library, largest)
    remove_dead_nodes(graph)
    merge_constants(graph)
    tie_tables(graph, library)
