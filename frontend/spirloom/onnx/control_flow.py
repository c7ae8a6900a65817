"""If, Loop and Scan, whose course is known at import: what they run becomes part of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from onnx import AttributeProto, GraphProto

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.values import part, stacked

# Imports the nodes of a subgraph for these inputs, giving its own names the prefix.
Run = Callable[[GraphProto, str, Sequence[Value]], list[Value]]

MAX_STEPS = 1 << 12


def branch(ctx: NodeContext, run: Run) -> list[Value]:
    """The results of an If."""
    condition = ctx.constant(0)
    taken = condition is not None and bool(condition.all())
    name = "then_branch" if taken else "else_branch"
    return run(_graph(ctx, name), _prefix(ctx, name), [])


def loop(ctx: NodeContext, run: Run) -> list[Value]:
    """The results of a Loop: its state after the last step, and what each step gives."""
    body, limit, condition = _graph(ctx, "body"), ctx.constant_ints(0), ctx.constant(1)
    state = [ctx.value(i) for i in range(2, len(ctx.inputs))]
    going, step = condition is None or bool(condition.all()), 0
    gathered: list[list[Value]] = []
    while going and (not limit or step < limit[0]):
        given = [np.array(step, np.int64), np.array(going), *state]
        goes_on, *results = _results(ctx, run, body, step, given, 1 + len(state))
        if isinstance(goes_on, Tensor):
            raise Unsupported("whether it goes on depends on the data")
        going, step = bool(goes_on.all()), step + 1
        gathered.append(results[len(state) :])
        state = results[: len(state)]
    return state + [stacked(ctx, column, 0) for column in _columns(ctx, gathered, state)]


def scan(ctx: NodeContext, run: Run) -> list[Value]:
    """The results of a Scan: its state after the last element, and what each element gives."""
    if ctx.opset < 9:
        raise Unsupported("its form of opset 8, with a batch dimension, is not supported")
    body, count = _graph(ctx, "body"), ctx.integer("num_scan_inputs", 0)
    inputs = [ctx.value(i) for i in range(len(ctx.inputs))]
    first = len(inputs) - count
    state, scanned = inputs[:first], inputs[first:]
    axes = _for_each(ctx, "scan_input_axes", count)
    backward = _for_each(ctx, "scan_input_directions", count)
    places = [ctx.axis(axis, len(x.shape)) for axis, x in zip(axes, scanned, strict=False)]
    lengths = {x.shape[axis] for axis, x in zip(places, scanned, strict=False) if x.shape}
    if len(lengths) != 1 or first < 0 or not all(x.shape for x in scanned):
        raise Unsupported(f"its {count} scanned inputs do not have one length")
    (length,) = lengths
    gathered: list[list[Value]] = []
    for step in range(length):
        at = [length - 1 - step if back else step for back in backward]
        parts = [part(ctx, *p) for p in zip(scanned, places, at, strict=True)]
        results = _results(ctx, run, body, step, [*state, *parts], len(state))
        gathered.append(results[len(state) :])
        state = results[: len(state)]
    return state + _scan_outputs(ctx, _columns(ctx, gathered, state))


def _results(
    ctx: NodeContext, run: Run, body: GraphProto, step: int, given: Sequence[Value], least: int
) -> list[Value]:
    """What one step gives: at least the state it takes."""
    if step == MAX_STEPS:
        raise Unsupported(f"it makes more than {MAX_STEPS} steps")
    results = run(body, _prefix(ctx, str(step)), given)
    if len(results) < least:
        raise Unsupported(f"its subgraph gives {len(results)} values; {least} are needed")
    return results


def _columns(
    ctx: NodeContext, gathered: Sequence[Sequence[Value]], state: Sequence[Value]
) -> list[tuple[Value, ...]]:
    """What the steps gave, by output."""
    if not gathered and len(ctx.node.output) > len(state):
        raise Unsupported("it makes no step, so that the shape of what it gathers is not known")
    return list(zip(*gathered, strict=True))


def _for_each(ctx: NodeContext, name: str, count: int) -> list[int]:
    """An attribute with a number for each scanned value; 0 where it is absent."""
    values = ctx.integers(name) or [0] * count
    if len(values) != count:
        raise Unsupported(f"its {name} {values} are not those of {count} values")
    return values


def _scan_outputs(ctx: NodeContext, columns: Sequence[Sequence[Value]]) -> list[Value]:
    axes = _for_each(ctx, "scan_output_axes", len(columns))
    backward = _for_each(ctx, "scan_output_directions", len(columns))
    return [
        stacked(ctx, column[::-1] if back else column, ctx.axis(axis, len(column[0].shape) + 1))
        for column, axis, back in zip(columns, axes, backward, strict=True)
    ]


def _graph(ctx: NodeContext, name: str) -> GraphProto:
    attribute = ctx.attribute(name)
    if attribute.type != AttributeProto.GRAPH:
        raise Unsupported(f"its {name} is no graph")
    return attribute.g


def _prefix(ctx: NodeContext, part: str) -> str:
    """Begins the names that one run of a subgraph has to itself."""
    return f"{next(filter(None, ctx.node.output), ctx.node.name)}/{part}/"


CONTROL: dict[str, Callable[[NodeContext, Run], list[Value]]] = {
    "If": branch,
    "Loop": loop,
    "Scan": scan,
}
