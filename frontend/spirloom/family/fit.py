"""Chooses the context and the prefill size of a language model for an amount of device memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spirloom.errors import ImportFailure
from spirloom.family.methods import DEFAULT_MAX_PREFILL
from spirloom.ir import Graph, Tensor

# Memory that packing of weights, staging and alignment may take in addition.
_RESERVED_BYTES, _RESERVED_PART = 64 << 20, 0.03
# A context or prefill below these is of little use.
MIN_CONTEXT = 256
_SMALLER_PREFILLS = (256, 128, 64, 32)

# Imports the model with a context (None: the default) and a maximum prefill.
Read = Callable[[int | None, int | None], list[Graph]]


def fitting(
    read: Read, free: int, context: int | None, max_prefill: int | None
) -> tuple[list[Graph], str]:
    """The methods of the model with the largest context that fits into `free` bytes, up to
    `context` (None: the default), and a line that describes the choice. Unless `max_prefill` sets
    it, the prefill size is halved, down to 32 tokens, until half of the context fits.

    Raises ImportFailure, with both numbers, if a context of 256 tokens does not fit.
    """
    for prefill in (max_prefill,) if max_prefill else (None, *_SMALLER_PREFILLS):
        graphs = read(context, prefill)
        rows = context_of(graphs)
        tokens = min(DEFAULT_MAX_PREFILL, rows) if prefill is None else prefill
        required = required_bytes(graphs)
        if required <= free:
            return graphs, _text(rows, tokens, required, free)
        min_rows = max(MIN_CONTEXT, tokens)
        if rows <= min_rows:
            break
        min_required = required_bytes(read(min_rows, tokens))
        # Caches and RoPE tables grow with the context.
        fits = min_rows + (free - min_required) * (rows - min_rows) // (required - min_required)
        if fits >= rows // 2:
            break
    if rows <= min_rows or fits < min_rows:
        needs = required if rows <= min_rows else min_required
        raise ImportFailure(
            f"The model requires {needs:,} bytes of device memory for a context of "
            f"{min(rows, min_rows)} tokens; {free:,} bytes are free. Use --quantize or --fp16."
        )
    graphs = read(fits // MIN_CONTEXT * MIN_CONTEXT, tokens)
    return graphs, _text(context_of(graphs), tokens, required_bytes(graphs), free)


def context_of(graphs: Sequence[Graph]) -> int:
    """The rows of the KV caches."""
    caches = [state for state in graphs[0].states if state.tensor.name.startswith("k_cache.")]
    return caches[0].tensor.shape[1]


def required_bytes(graphs: Sequence[Graph]) -> int:
    """An estimate of the device memory of a model with one context."""
    constants = constant_bytes(graphs)
    states = sum(state.tensor.size for state in graphs[0].states)
    reserved = int(constants * _RESERVED_PART) + _RESERVED_BYTES
    return constants + states + max(map(peak_bytes, graphs)) + reserved


def constant_bytes(graphs: Sequence[Graph]) -> int:
    """The bytes of all constants; the methods share equal ones."""
    constants: dict[int, int] = {}
    for graph in graphs:
        for tensor in graph.tensors():
            if tensor.is_constant:
                constants[id(tensor.values)] = tensor.size
    return sum(constants.values())


def peak_bytes(graph: Graph) -> int:
    """The maximum of the bytes of intermediate tensors that are live at once."""
    last = {tensor: i for i, node in enumerate(graph.nodes) for tensor in node.inputs()}
    last |= dict.fromkeys(graph.results(), len(graph.nodes))
    kept = set(graph.given()) | {state.update for state in graph.states}
    ending: dict[int, list[Tensor]] = {}
    live = peak = 0
    for i, node in enumerate(graph.nodes):
        for tensor in node.outputs:
            if tensor not in kept:
                live += tensor.size
                ending.setdefault(last.get(tensor, i), []).append(tensor)
        peak = max(peak, live)
        live -= sum(tensor.size for tensor in ending.pop(i, ()))
    return peak


def _text(rows: int, tokens: int, required: int, free: int) -> str:
    return (
        f"context of {rows} tokens, prefill of up to {tokens}: {required:,} of {free:,} free bytes"
    )
