"""Graph rewrites that keep results unchanged, except those that round: fp16 and quantization."""

from __future__ import annotations

from collections.abc import Callable, Collection

from spec_model.symbolic import Guards, general, note
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.passes.activation_patterns import fuse_gated_activations, fuse_gelu, fuse_patterns
from spirloom.passes.attention.decomposed import fuse_attention, simplify_attention
from spirloom.passes.attention.rotary_embedding import fuse_rotary
from spirloom.passes.attention.strided import stride_attention
from spirloom.passes.cleanup import (
    merge_constants,
    merge_equal_calls,
    remove_dead_nodes,
    simplify_views,
)
from spirloom.passes.convolution import convolve_2d
from spirloom.passes.data_movement import fold_copies
from spirloom.passes.elementwise_fusion import fuse_elementwise
from spirloom.passes.expansions import absorb_expansions
from spirloom.passes.fp16 import to_fp16
from spirloom.passes.integer_layers import fuse_integers
from spirloom.passes.large_weights import LARGEST_WEIGHT, split_weights, tie_tables
from spirloom.passes.layer_fusion import (
    absorb_padding,
    fold_batch_norm,
    fuse_activations,
    fuse_bias,
    fuse_residuals,
)
from spirloom.passes.linear_layers import merge_linear_layers, split_linear_layers
from spirloom.passes.normalization import fuse_layer_norm, fuse_rms_norm
from spirloom.passes.observers import observe
from spirloom.passes.permutations import move_permutations, move_row_permutations
from spirloom.passes.unrolled_loops import batch_stacks, fuse_recurrences
from spirloom.passes.weight_quantization import (
    Quantization,
    fuse_quantized,
    keep_bfloat16,
    quantize_weights,
)
from spirloom.terminal import Report, silent

# Optimization passes, in order of execution. Each can be skipped.
OPTIMIZATIONS: dict[str, Callable[[Graph, OpLibrary], None]] = {
    "fuse-integers": fuse_integers,
    "fuse-quantized": fuse_quantized,
    "convolve-2d": convolve_2d,
    "fuse-recurrences": fuse_recurrences,
    "batch-stacks": batch_stacks,
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
    "fuse-gated-activations": fuse_gated_activations,
    "fuse-bias": fuse_bias,
    "split-linear-layers": split_linear_layers,
    "move-row-permutations": move_row_permutations,
    "fuse-residuals": fuse_residuals,
    "fuse-activations": fuse_activations,
    "absorb-expansions": absorb_expansions,
    "fuse-elementwise": fuse_elementwise,
    "merge-equal-calls": merge_equal_calls,
    "stride-attention": stride_attention,
    "merge-linear-layers": merge_linear_layers,
    "fold-copies": fold_copies,
}

# Passes that KV caches of variable length must precede: these require attention without strides.
OF_ALL_SIZES = ("stride-attention", "merge-linear-layers", "fold-copies")


def register_pass(
    name: str, rewrite: Callable[[Graph, OpLibrary], None], before: str | None = None
) -> None:
    """Adds an optimization pass, which changes a graph in place: before the pass `before`, by
    default as the last one. Raises ValueError for a name that exists, or an unknown `before`.

    A pass must return equal results. The graph that it gets may have symbolic sizes: SymInts, whose
    comparisons are proven, or become guards. `spirloom.passes.observers.verify` checks a graph.
    """
    if name in OPTIMIZATIONS or (before is not None and before not in OPTIMIZATIONS):
        what = f"'{name}' exists" if name in OPTIMIZATIONS else f"'{before}' is unknown"
        raise ValueError(f"The pass {what}. The passes are: {', '.join(OPTIMIZATIONS)}.")
    passes = list(OPTIMIZATIONS.items())
    index = len(passes) if before is None else list(OPTIMIZATIONS).index(before)
    passes.insert(index, (name, rewrite))
    OPTIMIZATIONS.clear()
    OPTIMIZATIONS.update(passes)


def optimize(
    graph: Graph,
    library: OpLibrary,
    fp16: bool = False,
    skip: Collection[str] = (),
    report: Report = silent,
    quantize: Quantization | None = None,
    sizes_vary: bool = False,
    keep_float32: Collection[str] = (),
) -> None:
    """Applies every pass except those in `skip`, in place. `report` receives the name of each pass.

    `keep_float32`: name patterns of nodes that stay float32 with `fp16`.

    With `sizes_vary`, the passes in OF_ALL_SIZES are left to `optimize_sizes`.
    """
    if quantize is not None:
        quantize.check(fp16)
    report("merge-constants")
    merge_constants(graph)
    observe("merge-constants", graph, library)
    skip = {*skip, *OF_ALL_SIZES} if sizes_vary else skip
    for name, rewrite in OPTIMIZATIONS.items():
        if name not in skip:
            report(name)
            note(f"pass '{name}'")
            rewrite(graph, library)
            observe(name, graph, library)
    note("the passes")
    if quantize is not None:
        report("quantize")
        quantize_weights(graph, library, quantize)
    report("finish")
    finish(graph, library, fp16, keep_float32=keep_float32)


def optimize_sizes(graph: Graph, library: OpLibrary, skip: Collection[str] = ()) -> Graph:
    """Applies the passes in OF_ALL_SIZES to a graph with symbolic sizes, in place, and returns
    it.
    """
    with general(Guards()):  # formulas that are not proven to be equal differ
        for name in OF_ALL_SIZES:
            if name not in skip:
                OPTIMIZATIONS[name](graph, library)
                observe(name, graph, library)
    return graph


def finish(
    graph: Graph,
    library: OpLibrary,
    fp16: bool = False,
    largest: int = LARGEST_WEIGHT,
    keep_float32: Collection[str] = (),
) -> None:
    """Applies the passes that every graph file needs, optimized or not.

    Layers and embedding tables with a weight of more than `largest` bytes are split.
    """
    if fp16:
        to_fp16(graph, library, keep_float32)
    if graph.bfloat16:
        keep_bfloat16(graph, library)
    split_weights(graph, library, largest)
    remove_dead_nodes(graph)
    merge_constants(graph)
    tie_tables(graph, library)
    observe("finish", graph, library)
