"""Pairs of inputs and outputs that are states: what a run gives is what the next one is given."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from spirloom.errors import ImportFailure
from spirloom.ir import Graph, State

# What an input is called, and the output that is its next value.
Pairs = Mapping[str, str]


def pairs_of(texts: Sequence[str], graph: Graph) -> dict[str, str]:
    """The pairs that `--state IN=OUT` names; a `*` stands for the same text on both sides.

    Raises ImportFailure for names that the graph lacks and for those that are in two pairs.
    """
    inputs, outputs = ([t.name for t in side] for side in (graph.inputs, graph.outputs))
    pairs: dict[str, str] = {}
    for text in texts:
        before, equals, after = text.partition("=")
        stars = {before.count("*"), after.count("*")}
        if not (equals and before and after) or stars not in ({0}, {1}):
            raise ImportFailure(f"--state wants IN=OUT, with one * in both or none, not '{text}'.")
        pattern = re.compile(re.escape(before).replace(r"\*", "(.*)"))
        matches = [match for match in map(pattern.fullmatch, inputs) if match]
        found = {m.string: after.replace("*", m[1] if m.re.groups else "") for m in matches}
        if not found:
            raise ImportFailure(
                f"--state {text} names no input; the inputs are: {', '.join(inputs)}."
            )
        for name, other in found.items():
            if other not in outputs:
                raise ImportFailure(
                    f"--state {text}: '{name}' would become '{other}', which is no output; the "
                    f"outputs are: {', '.join(outputs)}."
                )
            if name in pairs or other in pairs.values():
                raise ImportFailure(f"--state {text}: '{name}' or '{other}' is a state already.")
            pairs[name] = other
    return pairs


def hold_states(graph: Graph, pairs: Pairs) -> dict[str, str]:
    """Makes states of the pairs of one type, before any pass; the others, whose caches grow."""
    inputs = {tensor.name: tensor for tensor in graph.inputs}
    outputs = {tensor.name: tensor for tensor in graph.outputs}
    growing: dict[str, str] = {}
    for before, after in pairs.items():
        old, new = inputs[before], outputs[after]
        if old.dtype is not new.dtype:
            raise ImportFailure(f"The state '{before}' is {old}, and '{after}' {new}.")
        if tuple(old.shape) != tuple(new.shape):
            growing[before] = after
            continue
        graph.inputs.remove(old)
        graph.outputs.remove(new)
        graph.states.append(State(old, new))
    return growing


def refuse_fixed(graph: Graph, growing: Pairs) -> None:
    """ImportFailure for caches that grow in a graph whose sizes are fixed."""
    shapes = {t.name: t for t in (*graph.inputs, *graph.outputs)}
    for before, after in growing.items():
        raise ImportFailure(
            f"The state '{before}' is {shapes[before]}, and '{after}' {shapes[after]}: a cache "
            "that grows. Leave its size open up to what it is to hold: --dim NAME=1..ROWS."
        )


def state_lines(graph: Graph) -> list[str]:
    """A line for each state: what it is, and how a run changes it."""
    makers = graph.producers()
    lines = []
    for state in graph.states:
        maker = makers.get(state.update)
        if maker is not None and maker.op == "spirloom.cache_update":
            how = "rows are written in place"
        elif maker is not None and maker.op == "aten.add.Tensor" and state.tensor.shape == (1,):
            how = f"counts, from 0; becomes '{state.update.name}'"
        else:
            how = f"becomes '{state.update.name}', as a whole"
        lines.append(f"state {state.tensor.name}: {state.tensor}, {how}")
    return lines
