"""Runs a graph on a device and returns its intermediate tensors, in chunks that fit in memory.

A chunk is a range of consecutive nodes. Its graph has the tensors of these nodes as outputs, and no
later node. Outputs have memory of their own: the runtime then neither writes them into a
concatenation nor overwrites them in place. All else, such as the kernels, is as in the whole graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spirloom import graph_file
from spirloom.ir import ArgValue, Array, Graph, Node, State, Tensor

if TYPE_CHECKING:
    from spirloom.runtime import Model, Runtime
    from spirloom.runtime.runtime import LoadOptions

# Intermediate tensors that one chunk holds in host memory, by default.
DEFAULT_CHUNK_BYTES = 512 << 20
Values = dict[Tensor, Array]


@dataclass(frozen=True, slots=True)
class DeviceOptions:
    """How a model runs: the device, its shader libraries, kernels, the storage of tensors, the
    bytes of intermediate tensors per chunk, and the file of verdicts about kernels.
    """

    device: str | None = None
    overrides: tuple[Path, ...] = ()
    kernels: tuple[str, ...] = ()
    storage: str = "auto"
    chunk_bytes: int = DEFAULT_CHUNK_BYTES
    verdicts: Path | None = None

    def runtime(self) -> Runtime:
        """Opens the device."""
        from spirloom.runtime import Runtime

        return Runtime(self.device, overrides=self.overrides, verdicts=self.verdicts)

    def load(self, runtime: Runtime, graph: Graph) -> Model:
        """Loads the graph with times of dispatches, which name the kernels."""
        options: LoadOptions = {
            "storage": self.storage,  # type: ignore[typeddict-item]
            "kernels": self.kernels,
            "profile": True,
        }
        return runtime.load(graph_file.to_bytes(graph), **options)


@dataclass(frozen=True, slots=True)
class Chunk:
    """The results of some nodes: the values that they read and wrote, and the kernels by node name
    and operator. A node that is a view has no kernel.
    """

    nodes: tuple[Node, ...]
    values: Values
    kernels: Mapping[tuple[str, str], tuple[str, ...]]

    def kernels_of(self, node: Node) -> tuple[str, ...]:
        """The variants that computed a node. Nodes with one name and operator share them."""
        return self.kernels.get((node.name, node.op), ())


def chunks_of(
    runtime: Runtime,
    graph: Graph,
    inputs: Mapping[str, Array],
    options: DeviceOptions,
    nodes: Sequence[Node] | None = None,
    operands: bool = True,
) -> Iterator[Chunk]:
    """Runs the graph once per chunk. `nodes`: only the results of these, in graph order. Without
    `operands`, the values that nodes read are not kept.

    `inputs` are by name, and of states by the state's name (default: the initial value). The graph
    has fixed sizes.
    """
    wanted = list(graph.nodes if nodes is None else nodes)
    for part in _split(wanted, options.chunk_bytes):
        read = [t for node in part for t in _computed(node)] if operands else []
        kept = dict.fromkeys([*read, *(t for node in part for t in node.outputs)])
        yield _run_chunk(runtime, graph, inputs, options, part, kept)


def _split(nodes: Sequence[Node], limit: int) -> Iterator[list[Node]]:
    """Consecutive nodes whose operands and results have at most `limit` bytes. At least one."""
    part: list[Node] = []
    held: dict[Tensor, None] = {}
    for node in nodes:
        own = dict.fromkeys(_computed(node))
        if part and sum(t.size for t in {**held, **own}) > limit:
            yield part
            part, held = [], {}
        part.append(node)
        held |= own
    if part:
        yield part


def _computed(node: Node) -> list[Tensor]:
    return [t for t in (*node.inputs(), *node.outputs) if not t.is_constant]


def _run_chunk(
    runtime: Runtime,
    graph: Graph,
    inputs: Mapping[str, Array],
    options: DeviceOptions,
    nodes: list[Node],
    wanted: Iterable[Tensor],
) -> Chunk:
    values = given_values(graph, inputs)
    kept = [tensor for tensor in wanted if tensor not in values]
    model = options.load(runtime, tapped_graph(graph, kept, nodes[-1]))
    with model:
        for state in model.states:
            if state in inputs:
                model.states[state] = inputs[state]
        results = model.run({info.name: inputs[info.name] for info in model.inputs})
        kernels: dict[tuple[str, str], tuple[str, ...]] = {}
        for row in model.profile():
            found = kernels.get((row.node, row.op), ())
            if row.variant not in found:
                kernels[row.node, row.op] = (*found, row.variant)
    values |= dict(zip(kept, results, strict=True))
    return Chunk(tuple(nodes), values, kernels)


def given_values(graph: Graph, inputs: Mapping[str, Array]) -> Values:
    """The values of inputs and states at the start of a run."""
    values = {tensor: inputs[tensor.name] for tensor in graph.inputs}
    for state in graph.states:
        initial = state.initial
        if initial is None:
            initial = np.zeros(state.tensor.shape, state.tensor.dtype.numpy)
        values[state.tensor] = inputs.get(state.tensor.name, initial)
    return values


def tapped_graph(graph: Graph, kept: Sequence[Tensor], last: Node) -> Graph:
    """The graph up to `last`, with the tensors `kept` as outputs of unique names."""
    names = {tensor: f"output.{i}" for i, tensor in enumerate(kept)}
    given = set(graph.given())
    copies: dict[Tensor, Tensor] = {}

    def copy(tensor: Tensor) -> Tensor:
        if tensor not in copies:
            name = tensor.name if tensor in given else names.get(tensor, "")
            copies[tensor] = replace(tensor, name=name)
        return copies[tensor]

    tapped = Graph([copy(t) for t in graph.inputs], [], producer=graph.producer)
    for node in graph.nodes[: graph.nodes.index(last) + 1]:
        args = tuple(copied(arg, copy) for arg in node.args)
        tapped.nodes.append(Node(node.op, args, tuple(map(copy, node.outputs)), node.name))
    tapped.outputs = [copy(tensor) for tensor in kept]
    computed = {t for node in tapped.nodes for t in node.outputs}
    for state in graph.states:
        tensor, update = copy(state.tensor), copy(state.update)
        kept_update = update if update in computed else tensor
        tapped.states.append(State(tensor, kept_update, state.initial))
    return tapped


def copied(arg: ArgValue, copy: Callable[[Tensor], Tensor]) -> ArgValue:
    """An argument with copies of its tensors."""
    if isinstance(arg, Tensor):
        return copy(arg)
    if isinstance(arg, tuple) and arg and isinstance(arg[0], Tensor):
        return tuple(copy(item) for item in arg if isinstance(item, Tensor))
    return arg


def with_tensors(graph: Graph, change: Callable[[Tensor], Tensor]) -> Graph:
    """A copy of a graph whose tensors are changed copies of the original ones."""
    copies: dict[Tensor, Tensor] = {}

    def copy(tensor: Tensor) -> Tensor:
        if tensor not in copies:
            copies[tensor] = change(tensor)
        return copies[tensor]

    made = replace(graph)
    made.inputs = [copy(tensor) for tensor in graph.inputs]
    made.nodes = [
        Node(n.op, tuple(copied(a, copy) for a in n.args), tuple(map(copy, n.outputs)), n.name)
        for n in graph.nodes
    ]
    made.outputs = [copy(tensor) for tensor in graph.outputs]
    made.states = [State(copy(s.tensor), copy(s.update), s.initial) for s in graph.states]
    return made
