"""Makes one graph whose sizes vary of the graphs at some sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from spirloom.errors import ImportFailure
from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.sizes import Symbol, Varying
from spirloom.varying.compare import Comparison
from spirloom.varying.fit import Fitter
from spirloom.varying.points import points
from spirloom.varying.specialize import specialize

Sizes = Mapping[str, int]


def generalize(
    make: Callable[[Sizes], Graph], symbols: Sequence[Symbol], library: OpLibrary
) -> Graph:
    """The graph of all sizes between the symbols' bounds; `make` gives the one of fixed sizes.

    Raises ImportFailure, naming the node, for what cannot vary.
    """
    chosen = points(symbols)
    comparison = Comparison(make(chosen[0]), chosen[0])
    for sizes in chosen[1:]:
        comparison.add(make(sizes), sizes)
    graph = comparison.graph
    graph.symbols = tuple(symbols)
    fitter = Fitter(symbols, chosen)
    _set_arguments(comparison, fitter)
    _set_shapes(comparison, fitter, library)
    for sizes in [*chosen, {s.name: s.least for s in symbols}]:
        specialize(graph, sizes, library)
    return graph


def _set_arguments(comparison: Comparison, fitter: Fitter) -> None:
    for (node, place), others in comparison.ints.items():
        value = node.args[place]
        ints = (value,) if isinstance(value, int) else value
        assert isinstance(ints, tuple)
        varying = _varying(ints, others, fitter)
        if None in varying:
            at_points = ", ".join(map(str, [ints, *others]))
            raise ImportFailure(
                f"The model cannot vary in size: how an argument of node '{node.name}' ({node.op}) "
                f"follows from the sizes is not found; it is {at_points}."
            )
        found = tuple(v for v in varying if v is not None)
        new: ArgValue = found[0] if isinstance(value, int) else found
        node.args = (*node.args[:place], new, *node.args[place + 1 :])


def _varying(
    ints: Sequence[object], others: Sequence[Sequence[int]], fitter: Fitter
) -> list[int | None]:
    """The ints, as Varying where they differ at other points; None where nothing fits."""
    result: list[int | None] = []
    for i, value in enumerate(ints):
        assert isinstance(value, int)
        numbers = [value, *(other[i] for other in others)]
        if len(set(numbers)) == 1:
            result.append(value)
            continue
        expr = fitter.fit(numbers)
        result.append(None if expr is None else Varying(value, expr))
    return result


def _set_shapes(comparison: Comparison, fitter: Fitter, library: OpLibrary) -> None:
    """Where the shape of a computed tensor is not found, the runtime infers it all the same."""
    graph = comparison.graph
    slices: dict[Tensor, tuple[int, ...]] = {}
    given = set(graph.given())
    for tensor, others in comparison.shapes.items():
        dims = _varying(tensor.shape, others, fitter)
        wanted = tensor.data is not None or tensor in given
        if wanted and None in dims:
            raise ImportFailure(
                f"The model cannot vary in size: how the shape of '{tensor.name}' follows from the "
                f"sizes is not found; it is {', '.join(map(str, [tensor.shape, *others]))}."
            )
        shape = tuple(
            Varying(old, None) if new is None else new
            for old, new in zip(tensor.shape, dims, strict=True)
        )
        if tensor.data is None:
            tensor.shape = shape
        elif any(isinstance(d, Varying) for d in shape):
            slices[tensor] = shape
    _slice_constants(graph, slices, library)


def _slice_constants(
    graph: Graph, slices: Mapping[Tensor, tuple[int, ...]], library: OpLibrary
) -> None:
    """Cuts constants of the greatest size to what a size needs: their beginning."""
    nodes: list[Node] = []
    mapping: dict[Tensor, Tensor] = {}
    for tensor, shape in slices.items():
        part = tensor
        for dim, size in enumerate(shape):
            if isinstance(size, Varying):
                nodes.append(_beginning(part, dim, size, library))
                (part,) = nodes[-1].outputs
        mapping[tensor] = part
    for node in graph.nodes:
        node.replace_inputs(mapping)
    graph.nodes[:0] = nodes


def _beginning(x: Tensor, dim: int, size: Varying, library: OpLibrary) -> Node:
    """The node that takes the first elements of a dimension."""
    op = "aten.slice.Tensor"
    args = library.complete(op, {"x": x, "dim": dim, "start": 0, "end": int(size), "step": 1})
    shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
    node = Node(op, args, (Tensor(x.name, x.dtype, shape),), f"{x.name}[:{size}]")
    node.args = library.with_args(node, end=size)
    return node
