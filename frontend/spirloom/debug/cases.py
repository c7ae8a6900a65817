"""Test cases in a graph file: inputs and expected outputs, which `spirloom run --check` runs.

They are attachments in .npy format: cases/<number>/inputs/<input>, cases/<number>/outputs/<output>.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from spirloom.debug.device_values import copied
from spirloom.errors import ImportFailure
from spirloom.ir import Array, Graph, Node, State, Tensor

PREFIX = "cases/"


@dataclass(frozen=True, slots=True)
class BundledCase:
    """Inputs and expected outputs, by name."""

    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]


def add_case(graph: Graph, case: BundledCase) -> None:
    """Adds a case to the attachments of a graph. Writing the file fails if they are too many or too
    large (file-formats.md).
    """
    number = len(cases_of(graph.attachments))
    for kind, arrays in (("inputs", case.inputs), ("outputs", case.outputs)):
        for name, array in arrays.items():
            graph.attachments[f"{PREFIX}{number}/{kind}/{name}"] = npy_bytes(array)


def cases_of(attachments: Mapping[str, bytes]) -> list[BundledCase]:
    """The cases of a file. Raises ImportFailure for names that are none, and malformed arrays."""
    found: dict[int, tuple[dict[str, Array], dict[str, Array]]] = {}
    for name, data in attachments.items():
        if not name.startswith(PREFIX):
            continue
        number, _, rest = name.removeprefix(PREFIX).partition("/")
        kind, _, tensor = rest.partition("/")
        if not number.isdecimal() or kind not in ("inputs", "outputs"):
            raise ImportFailure(
                f"Attachment '{name}' is not cases/NUMBER/inputs/NAME or cases/NUMBER/outputs/NAME."
            )
        sides = found.setdefault(int(number), ({}, {}))
        sides[kind == "outputs"][tensor] = npy_array(data, name)
    return [BundledCase(*found[number]) for number in sorted(found)]


def npy_bytes(array: Array) -> bytes:
    """A file of one array."""
    stream = io.BytesIO()
    np.save(stream, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
    return stream.getvalue()


def npy_array(data: bytes, what: str) -> Array:
    """The array of a file in memory. `what` names it in messages."""
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, MemoryError, OSError) as error:
        raise ImportFailure(f"'{what}' is not a NumPy array: {error}.") from error
    if not isinstance(array, np.ndarray):
        raise ImportFailure(f"'{what}' has several arrays; expected one (.npy).")
    return array


def cut(
    graph: Graph,
    nodes: list[Node],
    values: Mapping[Tensor, Array],
    expected: Mapping[Tensor, Array],
) -> Graph:
    """A graph of some nodes with one case: its inputs are the tensors that these read and do not
    compute, with their `values`; its outputs are the tensors of `expected`.

    Bounds of inputs and initial values of states are kept, as kernels may rely on them.
    """
    computed = {tensor for node in nodes for tensor in node.outputs}
    read = dict.fromkeys(t for node in nodes for t in node.inputs() if not t.is_constant)
    given = [tensor for tensor in read if tensor not in computed]
    names = {tensor: f"input.{i}" for i, tensor in enumerate(given)}
    names |= {tensor: f"output.{i}" for i, tensor in enumerate(expected)}
    states = {state.tensor: state for state in graph.states}
    copies: dict[Tensor, Tensor] = {}

    def copy(tensor: Tensor) -> Tensor:
        if tensor not in copies:
            name = tensor.name if tensor in states else names.get(tensor, tensor.name)
            copies[tensor] = replace(tensor, name=name)
        return copies[tensor]

    made = Graph(producer=graph.producer)
    made.inputs = [copy(tensor) for tensor in given if tensor not in states]
    for node in nodes:
        args = tuple(copied(arg, copy) for arg in node.args)
        made.nodes.append(Node(node.op, args, tuple(map(copy, node.outputs)), node.name))
        if source := graph.source_of(node):
            made.sources[node.name] = source
    made.outputs = [copy(tensor) for tensor in expected]
    for tensor in given:
        if tensor in states:
            update = states[tensor].update
            kept = copy(update) if update in computed else copy(tensor)
            made.states.append(State(copy(tensor), kept, values[tensor]))
    inputs = {names[tensor]: values[tensor] for tensor in given if tensor not in states}
    add_case(made, BundledCase(inputs, {names[t]: array for t, array in expected.items()}))
    return made
