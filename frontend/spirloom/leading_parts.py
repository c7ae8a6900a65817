"""Constants of symbolic shape: at each size, the first elements of each dimension of an array.

Their values are an array of the maximum sizes. Graph files contain the array and a slice of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spec_model.traits import Trait
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.op_library import OpLibrary
from spirloom.sizes import SymInt, is_symbolic


def keeps_leading_parts(library: OpLibrary, op: str, args: Mapping[str, object]) -> bool:
    """Whether, with operands that are the first elements of constants, the result at all sizes is
    the first elements of the result at the maximum sizes.
    """
    if op == "aten.slice.Tensor":
        return not is_symbolic([args["start"], args["step"]]) and _from_begin(args)
    if op == "aten.view":
        return _adds_ones(args["x"], args["size"])
    if op == "aten.cat":
        return _only_last_varies(args["tensors"], args["dim"])
    if any(isinstance(v, SymInt) for v in args.values()):
        return False
    if library.has_trait(op, Trait.ELEMENTWISE):
        return True
    indices = [args.get(arg.name) for arg in library.args(op) if arg.dtype is DType.I32]
    known = all(_is_nonnegative(item) for value in indices for item in _items(value))
    return known and library.has_trait(op, Trait.LEADING_PARTS, args)


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _is_nonnegative(index: object) -> bool:
    """Whether indices count from the begin of a dimension."""
    return isinstance(index, Tensor) and index.data is not None and bool((index.data >= 0).all())


def _only_last_varies(tensors: object, dim: object) -> bool:
    """Whether all tensors of a concatenation except the last have a fixed size."""
    parts = [t for t in _items(tensors) if isinstance(t, Tensor)]
    return isinstance(dim, int) and not is_symbolic([t.shape[dim] for t in parts[:-1]])


def _from_begin(args: Mapping[str, object]) -> bool:
    start, end = args["start"], args["end"]
    return isinstance(start, int) and start >= 0 and isinstance(end, int) and end >= 0


def _adds_ones(x: object, size: object) -> bool:
    """Whether a view only adds or removes dimensions of size 1."""
    assert isinstance(x, Tensor) and isinstance(size, Sequence)
    before, after = ([n for n in shape if isinstance(n, SymInt) or n != 1]
                     for shape in (x.shape, size))  # fmt: skip
    return before == after


def slice_constants(graph: Graph, library: OpLibrary) -> None:
    """Slices constants of symbolic shape from constants of the maximum sizes."""
    nodes: list[Node] = []
    mapping: dict[Tensor, Tensor] = {}
    for tensor in graph.tensors():
        if tensor.is_constant and is_symbolic(tensor.shape):
            mapping[tensor] = _sliced(tensor, nodes, library)
    for node in graph.nodes:
        node.replace_inputs(mapping)
    graph.outputs = [mapping.get(tensor, tensor) for tensor in graph.outputs]
    graph.nodes[:0] = nodes


def _sliced(tensor: Tensor, nodes: list[Node], library: OpLibrary) -> Tensor:
    data = tensor.data
    assert data is not None
    part = Tensor(tensor.name, tensor.dtype, data.shape, tensor.values, tensor.storage)
    for dim, size in enumerate(tensor.shape):
        if isinstance(size, SymInt):
            op = "aten.slice.Tensor"
            args = library.complete(op, {"x": part, "dim": dim, "start": 0, "end": size, "step": 1})
            shape = (*part.shape[:dim], size, *part.shape[dim + 1 :])
            part = Tensor(tensor.name, tensor.dtype, shape)
            nodes.append(Node(op, args, (part,), f"{tensor.name}[:{size}]"))
    return part
