"""Compares what a symbolic graph computes at its minimum sizes with the model at these sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from math import prod

import numpy as np

from spec_model.spec import Arg, ArgType
from spec_model.traits import Trait
from spirloom.errors import ImportFailure
from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.op_library import OpLibrary
from spirloom.symbolic.computed import compute_the_same
from spirloom.symbolic.specialize import Sizes, sizes_text

_MAX_COMPARED = 16  # elements of a constant; others may be read from a file at each access


def check_minimum(
    graph: Graph,
    smallest: Graph,
    formulas: Graph,
    sizes: Sizes,
    library: OpLibrary,
) -> None:
    """Raises ImportFailure unless a model computes the same at its minimum sizes: by the same
    calls or, as importers choose others for constants that are sizes at fixed sizes only, by other
    calls with the same results.

    graph     the symbolic graph at the minimum sizes
    smallest  the graph that was imported at these sizes, before any pass
    formulas  the symbolic graph at these sizes, before any pass
    """
    stated = {tensor.name: tensor for tensor in graph.outputs}
    for tensor in smallest.outputs:
        computed = stated.get(tensor.name, tensor)
        if computed.shape != tensor.shape:
            what = f"output '{tensor.name}' is {tensor}, and {computed} by its formula"
            _refuse(what, sizes)
    other_calls = _other_calls(smallest, formulas, library)
    if other_calls and not compute_the_same(smallest, formulas, library):
        _refuse(other_calls, sizes)
    other_sizes = _other_sizes(smallest, graph, library)
    if other_sizes and not compute_the_same(smallest, graph, library):
        _refuse(other_sizes, sizes)


def _other_calls(smallest: Graph, formulas: Graph, library: OpLibrary) -> str:
    """The first call that differs before the passes; empty if there is none."""
    for node, other in zip_longest(_computing(smallest, library), _computing(formulas, library)):
        if node is None or other is None or not _same(node, other, library):
            return f"{_text(node)} takes the place of {_text(other)}"
    return ""


def _other_sizes(smallest: Graph, graph: Graph, library: OpLibrary) -> str:
    """The first node that computes other sizes after the passes; empty if there is none."""
    by_formula = _extents(graph, library)
    for (name, op), extents in _extents(smallest, library).items():
        formula = by_formula.get((name, op), extents)
        if formula != extents:
            what = f"node '{name}' ({op}) computes {_extents_text(extents)}"
            return f"{what}, and by formula {_extents_text(formula)}"
    return ""


Extents = list[tuple[int, bool]]


def _extents(graph: Graph, library: OpLibrary) -> dict[tuple[str, str], Extents]:
    """What no pass changes of the nodes that compute, by name and operator: the elements of each
    output and of each input of reductions, and whether an input is empty."""
    found: dict[tuple[str, str], Extents] = {}
    for node in _computing(graph, library):
        empty = any(0 in tensor.shape for tensor in node.inputs())
        extents = found.setdefault((node.name, node.op), [])
        reduced = list(node.inputs()) if library.has_trait(node.op, Trait.REDUCES) else []
        extents.extend((prod(tensor.shape), empty) for tensor in (*node.outputs, *reduced))
    return found


def _extents_text(extents: Extents) -> str:
    parts = (f"{n} elements{' of an empty tensor' if empty else ''}" for n, empty in extents)
    return " and ".join(parts)


def _text(node: Node | None) -> str:
    return "nothing" if node is None else f"node '{node.name}' ({node.op})"


def _refuse(what: str, sizes: Sizes) -> None:
    raise ImportFailure(
        f"The model cannot vary in size: at the minimum, {sizes_text(sizes)}, {what}, not as at "
        "larger sizes. Raise the minimum, or import it with fixed sizes."
    )


def _computing(graph: Graph, library: OpLibrary) -> Iterator[Node]:
    """The nodes that compute something of the inputs. Values of constants and sizes, which nodes of
    a symbolic graph compute, are constants at fixed sizes."""
    known: set[Tensor] = set()
    for node in graph.nodes:
        inputs = list(node.inputs())
        is_number = node.op == "aten.full" and prod(node.outputs[0].shape) == 1
        if is_number or (inputs and all(t.is_constant or t in known for t in inputs)):
            known.update(node.outputs)
        elif not _rearranges(node, library) and not _keeps_size(node):
            yield node


def _rearranges(node: Node, library: OpLibrary) -> bool:
    """Whether a node only rearranges, repeats or casts elements: at sizes of 1 and 2, an importer
    and the passes omit, merge and move such nodes."""
    casts = all(library.has_trait(node.op, t) for t in (Trait.CASTS, Trait.ELEMENTWISE))
    joins = any(kernel.concat_offset is not None for kernel in library.spec(node.op).kernels)
    return casts or joins or library.has_trait(node.op, Trait.MOVES_DATA)


def _keeps_size(node: Node) -> bool:
    """Whether a node resizes an image to its own size, which importers omit."""
    resizes = node.op.startswith(("aten.upsample_", "aten._upsample_"))
    return resizes and next(node.inputs()).shape == node.outputs[0].shape


def _same(a: Node, b: Node, library: OpLibrary) -> bool:
    """Whether two nodes compute the same, apart from sizes and layout of their tensors."""
    return a.op == b.op and all(map(_same_arg, library.spec(a.op).args, a.args, b.args))


def _same_arg(arg: Arg, a: ArgValue, b: ArgValue) -> bool:
    if arg.type in (ArgType.INT, ArgType.INTS):
        return True  # sizes and dimensions
    ones, others = (value if isinstance(value, tuple) else (value,) for value in (a, b))
    return len(ones) == len(others) and all(map(_same_item, ones, others))


def _same_item(a: ArgValue, b: ArgValue) -> bool:
    match a, b:
        case Tensor() as one, Tensor() as other:
            return one.dtype is other.dtype and _same_values(one, other)
    return a == b


def _same_values(a: Tensor, b: Tensor) -> bool:
    """Whether the elements of a small constant occur in that of larger sizes."""
    if not (a.is_constant and b.is_constant) or max(prod(a.shape), prod(b.shape)) > _MAX_COMPARED:
        return True
    values, others = a.data, b.data
    assert values is not None
    assert others is not None
    return bool((np.isin(values, others) | (values != values)).all())  # NaN differs from itself
