"""Merges linear layers of the same input, and splits layers whose columns are read in parts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from math import prod

import numpy as np

from spec_model.traits import Trait
from spirloom.deferred import Deferred, concatenated
from spirloom.ir import ArgValue, Graph, Node, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.passes.attention.strided import SIZES, STRIDED, Shapes
from spirloom.passes.data_movement import Moves, call, ints
from spirloom.passes.large_weights import LARGEST_WEIGHT
from spirloom.passes.movement import Movement
from spirloom.passes.rewrite import fused_name, replace_nodes
from spirloom.sizes import proven

LINEAR, SLICE = "aten.linear", "aten.slice.Tensor"
_OPERANDS = ("query", "key", "value")


def _is_plain_layer(library: OpLibrary, node: Node) -> bool:
    """Whether a node is a linear layer with constant parameters and no epilogue."""
    if node.op != LINEAR or not library.is_plain(node):
        return False
    weight, bias = (library.arg(node, name) for name in ("weight", "bias"))
    given = [value for value in (weight, bias) if isinstance(value, Tensor)]
    return isinstance(weight, Tensor) and all(tensor.is_constant for tensor in given)


def _is_row(y: Tensor) -> bool:
    """Whether a tensor is a single row, whose slices are views."""
    return all(type(size) is int and size == 1 for size in y.shape[:-1])


def split_linear_layers(graph: Graph, library: OpLibrary) -> None:
    """Splits linear layers whose columns are only read in parts, by element-wise operators, as in
    gated activations: a layer for each part replaces a copy, and can absorb the activation.
    """
    uses, results = graph.uses(), set(graph.results())
    replacements: dict[Node, Node | None] = {}
    for node in graph.nodes:
        if not _is_plain_layer(library, node) or _is_row(node.outputs[0]):
            continue
        (y,) = node.outputs
        slices = uses.get(y, [])
        parts = [_part(library, each) for each in slices]
        known = [part for part in parts if part is not None]
        if y in results or not known or len(known) < len(parts):
            continue
        disjoint = all(one[1] <= two[0] for one, two in pairwise(sorted(known)))
        readers = [reader for each in slices for reader in uses.get(each.outputs[0], ())]
        if disjoint and all(library.has_trait(each.op, Trait.ELEMENTWISE) for each in readers):
            replacements[node] = None
            for each, (begin, end) in zip(slices, known, strict=True):
                args = _rows(library, node, begin, end)
                replacements[each] = Node(LINEAR, args, each.outputs, each.name)
    replace_nodes(graph, replacements)


def _part(library: OpLibrary, node: Node) -> tuple[int, int] | None:
    """The first and the end column of a slice of columns. None for other nodes."""
    if node.op != SLICE:
        return None
    x, dim, start, step = (library.arg(node, name) for name in ("x", "dim", "start", "step"))
    assert isinstance(x, Tensor)
    last, count = len(x.shape) - 1, node.outputs[0].shape[-1]
    if type(start) is not int or type(count) is not int or dim not in (last, -1) or step != 1:
        return None
    begin = start + x.shape[-1] if start < 0 else start
    return begin, begin + count


def _rows(library: OpLibrary, layer: Node, begin: int, end: int) -> tuple[ArgValue, ...]:
    """The arguments of a layer with these rows of its weight and bias."""
    changes: dict[str, ArgValue] = {}
    for name in ("weight", "bias"):
        given = library.arg(layer, name)
        if isinstance(given, Tensor) and given.values is not None:
            values = given.values
            changes[name] = constant(
                f"{given.name}.{name}.{begin}",
                values.rows(begin, end) if isinstance(values, Deferred) else values[begin:end],
            )
    return library.with_args(layer, **changes)


def merge_linear_layers(graph: Graph, library: OpLibrary) -> None:
    """Merges linear layers of the same input into one with the rows of all weights, if their
    results can be read in its result without copies: by strided attention, or because there is a
    single row.
    """
    if library.has(LINEAR) and library.has(SLICE):
        _Merger(graph, library).run()


@dataclass(frozen=True, slots=True)
class _Read:
    """An operand of strided attention."""

    node: Node
    operand: int


@dataclass(frozen=True, slots=True)
class _Layer:
    """A linear layer, and what reads its result: attention, otherwise a slice of a single row."""

    node: Node
    reads: tuple[_Read, ...]

    @property
    def weight(self) -> Tensor:
        weight = self.node.args[1]
        assert isinstance(weight, Tensor)
        return weight

    @property
    def columns(self) -> int:
        return self.weight.shape[0]


class _Merger:
    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._graph = graph
        self._library = library
        self._moves = Moves(graph, library)
        self._uses = graph.uses()
        self._results = set(graph.results())

    def run(self) -> None:
        groups: dict[Hashable, list[_Layer]] = {}
        for node in self._graph.nodes:
            layer = self._layer(node)
            if layer is not None:
                groups.setdefault((node.args[0], layer.weight.dtype), []).append(layer)
        replacements: dict[Node, list[Node]] = {}
        for layers in groups.values():
            replacements |= self._merged(layers)
        replace_nodes(self._graph, replacements)

    def _layer(self, node: Node) -> _Layer | None:
        """A linear layer that can be merged with others."""
        if not _is_plain_layer(self._library, node):
            return None
        (y,) = node.outputs
        reads = self._reads(y)
        if reads:
            return _Layer(node, reads)
        return _Layer(node, ()) if _is_row(y) and y not in self._results else None

    def _reads(self, y: Tensor) -> tuple[_Read, ...]:
        """The operands of strided attention that are `y`; none if anything else reads it."""
        if y in self._results:
            return ()
        found: list[_Read] = []
        for node in dict.fromkeys(self._uses.get(y, ())):
            if node.op != STRIDED or any(value is y for value in node.args[len(_OPERANDS) :]):
                return ()
            found += [_Read(node, i) for i in range(len(_OPERANDS)) if node.args[i] is y]
        return tuple(found)

    def _merged(self, layers: Sequence[_Layer]) -> dict[Node, list[Node]]:
        """The replacements of layers of one input; none if they cannot be merged."""
        columns = sum(layer.columns for layer in layers)
        if len(layers) < 2 or columns * layers[0].weight.size // layers[0].columns > LARGEST_WEIGHT:
            return {}
        begins = [0, *accumulate(layer.columns for layer in layers)][:-1]
        steps: dict[_Read, Sequence[int]] = {}
        for layer, begin in zip(layers, begins, strict=True):
            for read in layer.reads:
                found = self._steps(read, layer, begin, columns)
                if found is None:
                    rest = [other for other in layers if other is not layer]
                    return self._merged(rest)
                steps[read] = found
        first, *others = (layer.node for layer in layers)
        result = first.outputs[0]
        y = Tensor(f"{result.name}.merged", result.dtype, (*result.shape[:-1], columns))
        args = self._library.with_args(first, weight=_weight(layers), bias=_bias(layers))
        merged = Node(LINEAR, args, (y,), _name(first, others))
        for read, strides in steps.items():
            name = _OPERANDS[read.operand]
            changes: dict[str, ArgValue] = {name: y, f"{name}_strides": tuple(strides)}
            read.node.args = self._library.with_args(read.node, **changes)
        return self._placed(merged, layers, begins)

    def _placed(
        self, merged: Node, layers: Sequence[_Layer], begins: Sequence[int]
    ) -> dict[Node, list[Node]]:
        """The merged layer at the position of the first one, and slices of single rows."""
        slices = [
            Node(SLICE, self._slice(merged.outputs[0], begin, layer), layer.node.outputs,
                 layer.node.name)
            for layer, begin in zip(layers, begins, strict=True)
            if not layer.reads
        ]  # fmt: skip
        replaced: dict[Node, list[Node]] = {layer.node: [] for layer in layers}
        replaced[layers[0].node] = [merged, *slices]
        return replaced

    def _slice(self, y: Tensor, begin: int, layer: _Layer) -> tuple[ArgValue, ...]:
        dim = len(y.shape) - 1
        return call(self._library, SLICE, x=y, dim=dim, start=begin, end=begin + layer.columns,
                    step=1)  # fmt: skip

    def _steps(self, read: _Read, layer: _Layer, begin: int, columns: int) -> Sequence[int] | None:
        """The offset and strides of an operand in rows of `columns` columns, of which the layer's
        start at `begin`. None if the operand is not strided in them.
        """
        shapes = Shapes(*self._ints(read.node, *SIZES))
        offset, *strides = self._ints(read.node, f"{_OPERANDS[read.operand]}_strides")
        rows = shapes.rows()[read.operand]
        move = Movement(tuple(zip(rows, (*strides, 1), strict=True)), offset)
        lead = prod(self._moves.shape(layer.node.outputs[0])[:-1])
        part = Movement(((lead, columns), (layer.columns, 1)), begin)
        both = proven(lambda: move.of(part))
        steps = None if both is None else proven(partial(shapes.steps, read.operand, both))
        return None if steps is None else self._moves.stored(steps)

    def _ints(self, node: Node, *names: str) -> list[int]:
        """The ints of arguments, in order."""
        values = [self._moves.symbolic(self._library.arg(node, name)) for name in names]
        return [i for v in values for i in ints(v if isinstance(v, tuple) else (v,))]


def _name(first: Node, others: Sequence[Node]) -> str:
    few = len(others) < 4
    return fused_name(first, *others) if few else f"{first.name} + {len(others)} layers"


def _weight(layers: Sequence[_Layer]) -> Tensor:
    values = [layer.weight.values for layer in layers]
    parts = [value for value in values if value is not None]
    return constant(f"{layers[0].weight.name}.merged", concatenated(parts))


def _bias(layers: Sequence[_Layer]) -> Tensor | None:
    """The biases of all layers, zeros where a layer has none; None if no layer has one."""
    biases = [layer.node.args[2] for layer in layers]
    given = [bias for bias in biases if isinstance(bias, Tensor)]
    if not given:
        return None
    parts = [
        bias.data
        if isinstance(bias, Tensor) and bias.data is not None
        else np.zeros(layer.columns, given[0].dtype.numpy)
        for bias, layer in zip(biases, layers, strict=True)
    ]
    return constant(f"{layers[0].weight.name}.merged.bias", np.concatenate(parts))
