"""If, Loop and Scan with conditions known at import: branches are selected, loops unrolled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from onnx import AttributeProto, GraphProto

from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.size_arrays import Known, LeadingPart, SizeArray, elements_of, truth
from spirloom.onnx.values import select, stacked
from spirloom.sizes import refuse_symbolic

# Imports the nodes of a subgraph for these inputs, with a prefix for names defined in it.
Run = Callable[[GraphProto, str, Sequence[Known]], list[Known]]

MAX_ITERATIONS = 1 << 12


def branch(ctx: NodeContext, run: Run) -> list[Known]:
    """The outputs of an If: those of the selected branch."""
    taken = _condition(ctx, 0)
    name = "then_branch" if taken else "else_branch"
    return run(_graph(ctx, name), _prefix(ctx, name), [])


def _condition(ctx: NodeContext, index: int) -> bool:
    """A condition that is known at import; one of symbolic sizes becomes a guard."""
    condition = ctx.known(index)
    if isinstance(condition, SizeArray):
        return all(map(truth, condition.flat()))
    value = ctx.constant(index)
    return value is not None and bool(value.all())


def loop(ctx: NodeContext, run: Run) -> list[Known]:
    """The outputs of a Loop: the final state, and the stacked outputs of all iterations."""
    body, limit = _graph(ctx, "body"), ctx.constant(0)
    count = None if limit is None or not limit.size else int(limit.reshape(-1)[0])
    state = [ctx.required(i) for i in range(2, len(ctx.inputs))]
    running, step = ctx.known(1) is None or _condition(ctx, 1), 0
    gathered: list[list[Known]] = []
    while running and (count is None or step < count):
        given = [np.array(step, np.int64), np.array(running), *state]
        proceed, *results = _results(ctx, run, body, step, given, 1 + len(state))
        if isinstance(proceed, Tensor):
            raise Unsupported("its loop condition depends on the data")
        if isinstance(proceed, LeadingPart):
            raise Unsupported("the shape of its loop condition depends on sizes")
        running = all(map(truth, elements_of(proceed)))
        step += 1
        gathered.append(results[len(state) :])
        state = results[: len(state)]
    return state + [stacked(ctx, column, 0) for column in _columns(ctx, gathered, state)]


def scan(ctx: NodeContext, run: Run) -> list[Known]:
    """The outputs of a Scan: the final state, and the stacked outputs of all iterations."""
    if ctx.opset < 9:
        raise Unsupported("its version of opset 8, with a batch dimension, is not supported")
    body, count = _graph(ctx, "body"), ctx.integer("num_scan_inputs", 0)
    first = len(ctx.inputs) - count
    state: list[Known] = [ctx.required(i) for i in range(first)]
    scanned = [ctx.value(i) for i in range(max(first, 0), len(ctx.inputs))]
    axes = _for_each(ctx, "scan_input_axes", count)
    backward = _for_each(ctx, "scan_input_directions", count)
    dims = [ctx.axis(axis, len(x.shape)) for axis, x in zip(axes, scanned, strict=False)]
    lengths = {x.shape[axis] for axis, x in zip(dims, scanned, strict=False) if x.shape}
    if len(lengths) != 1 or first < 0 or not all(x.shape for x in scanned):
        raise Unsupported(f"its {count} scanned inputs have different lengths")
    (length,) = map(refuse_symbolic, lengths)
    gathered: list[list[Known]] = []
    for step in range(length):
        at = [length - 1 - step if back else step for back in backward]
        parts = [select(ctx, *p) for p in zip(scanned, dims, at, strict=True)]
        results = _results(ctx, run, body, step, [*state, *parts], len(state))
        gathered.append(results[len(state) :])
        state = results[: len(state)]
    return state + _scan_outputs(ctx, _columns(ctx, gathered, state))


def _results(
    ctx: NodeContext, run: Run, body: GraphProto, step: int, given: Sequence[Known], count: int
) -> list[Known]:
    """The results of one iteration, `count` or more."""
    if step == MAX_ITERATIONS:
        raise Unsupported(f"it has more than {MAX_ITERATIONS} iterations")
    results = run(body, _prefix(ctx, str(step)), given)
    if len(results) < count:
        raise Unsupported(f"its subgraph has {len(results)} outputs; {count} are required")
    return results


def _columns(
    ctx: NodeContext, gathered: Sequence[Sequence[Known]], state: Sequence[Known]
) -> list[tuple[Known, ...]]:
    """The collected values of all iterations, by output."""
    if not gathered and len(ctx.node.output) > len(state):
        raise Unsupported("it has no iterations, so the shape of its stacked outputs is unknown")
    return list(zip(*gathered, strict=True))


def _for_each(ctx: NodeContext, name: str, count: int) -> list[int]:
    """An attribute with one int per scanned value. Zeros if it is absent."""
    values = ctx.integers(name) or [0] * count
    if len(values) != count:
        raise Unsupported(f"its {name} {values} must have {count} elements")
    return values


def _scan_outputs(ctx: NodeContext, columns: Sequence[Sequence[Known]]) -> list[Known]:
    axes = _for_each(ctx, "scan_output_axes", len(columns))
    backward = _for_each(ctx, "scan_output_directions", len(columns))
    return [
        stacked(ctx, column[::-1] if back else column, ctx.axis(axis, len(column[0].shape) + 1))
        for column, axis, back in zip(columns, axes, backward, strict=True)
    ]


def _graph(ctx: NodeContext, name: str) -> GraphProto:
    attribute = ctx.attribute(name)
    if attribute.type != AttributeProto.GRAPH:
        raise Unsupported(f"its {name} is not a graph")
    return attribute.g


def _prefix(ctx: NodeContext, part: str) -> str:
    """The prefix of names in one run of a subgraph."""
    return f"{next(filter(None, ctx.node.output), ctx.node.name)}/{part}/"


CONTROL: dict[str, Callable[[NodeContext, Run], list[Known]]] = {
    "If": branch,
    "Loop": loop,
    "Scan": scan,
}
