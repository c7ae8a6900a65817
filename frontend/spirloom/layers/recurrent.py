"""RNN, GRU and LSTM: one GEMM over the inputs of all steps, then one operator per direction.

The importer emits that GEMM, because formats differ in the bias that it adds. Gates are in the
order of PyTorch: reset, update, new (GRU); input, forget, cell, output (LSTM).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol, TypeVar

from spirloom.builder import Value

V = TypeVar("V", bound=Value)


class Cell(StrEnum):
    """The operators of one direction."""

    RNN = "spirloom.rnn_layer"
    GRU = "spirloom.gru_layer"
    LSTM = "spirloom.lstm_layer"


class LayerBuilder(Protocol[V]):
    """The calls that a layer consists of: a Builder of tensors, or an importer's of tensors and
    constants.
    """

    def emit_all(self, op: str, **args: object) -> tuple[V, ...]:
        """All results of an operator."""

    def view(self, x: V, shape: Sequence[int], /) -> V:
        """x with another shape."""

    def slice(self, x: V, dim: int, start: int, end: int) -> V:
        """A range of one dimension."""

    def cat(self, parts: Sequence[V], dim: int) -> V:
        """The concatenation along a dimension; of one part, the part."""


def run_direction(
    build: LayerBuilder[V], cell: Cell, gates: V, weight: V, h0: V | None,
    args: Mapping[str, object], reverse: bool, projection: V | None = None,
) -> tuple[V, ...]:  # fmt: skip
    """The hidden states of all steps [step, batch, hidden], then the final states [batch, hidden].

    `gates` [step, batch, gates · hidden] is the inputs' part of the gates, `weight`
    [gates · hidden, hidden] the weight of the hidden state, `h0` [batch, hidden] the initial one,
    None for zeros, `args` the cell's other arguments. All are float32, or all float16.

    With `projection` [projected, hidden], hidden states are [step, batch, projected], and `weight`
    is [gates · hidden, projected]. The cell's weight then includes the projection of the previous
    step, and the initial state is added to the gates of the first one.
    """
    if projection is None:
        return build.emit_all(cell.value, x=gates, weight=weight, h0=h0, reverse=reverse, **args)
    if h0 is not None:
        first = build.view(_linear(build, h0, weight), (1, *gates.shape[1:]))
        gates = _add_to_first_step(build, gates, first, reverse)
    (weight,) = build.emit_all("aten.mm", a=weight, b=projection)
    y, h, c = build.emit_all(cell.value, x=gates, weight=weight, reverse=reverse, **args)
    return _linear(build, y, projection), _linear(build, h, projection), c


def _linear(build: LayerBuilder[V], x: V, weight: V) -> V:
    return build.emit_all("aten.linear", x=x, weight=weight)[0]


def _add_to_first_step(build: LayerBuilder[V], x: V, addend: V, reverse: bool) -> V:
    """x with `addend` added to its first step, which is the last index if reversed."""
    steps = x.shape[0]
    at, rest = (steps - 1, (0, steps - 1)) if reverse else (0, (1, steps))
    (first,) = build.emit_all("aten.add.Tensor", a=build.slice(x, 0, at, at + 1), b=addend)
    if steps == 1:
        return first
    others = build.slice(x, 0, *rest)
    return build.cat([others, first] if reverse else [first, others], 0)


def stack_states(build: LayerBuilder[V], states: Sequence[V]) -> V:
    """The final states of all directions, [direction, batch, hidden]."""
    return build.cat([build.view(state, (1, *state.shape)) for state in states], 0)
