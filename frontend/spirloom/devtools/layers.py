"""The intermediate tensors that two graphs both name, as outputs of both."""

from __future__ import annotations

from collections import Counter

from spirloom.ir import DType, Graph, Tensor

_FLOATS = (DType.F32, DType.F16)


def show_common(a: Graph, b: Graph) -> list[str]:
    """Appends to the outputs of both graphs what each computes under one name and in one shape.

    The names, in the order in which `a` computes them. A name that one graph has twice is none;
    outputs, and what is no float, are left out. Names are those of the files: what an import fused
    into another node has no name any more.
    """
    ours, theirs = _named(a), _named(b)
    names = [n for n, t in ours.items() if n in theirs and theirs[n].shape == t.shape]
    a.outputs.extend(ours[name] for name in names)
    b.outputs.extend(theirs[name] for name in names)
    return names


def _named(graph: Graph) -> dict[str, Tensor]:
    made = [t for node in graph.nodes for t in node.outputs if t.dtype in _FLOATS]
    counts = Counter(tensor.name for tensor in graph.tensors())
    results = set(graph.outputs)
    return {t.name: t for t in made if t.name and counts[t.name] == 1 and t not in results}
