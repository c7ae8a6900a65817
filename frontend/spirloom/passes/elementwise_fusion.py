"""Fuses chains of elementwise operators into one."""

from __future__ import annotations

from dataclasses import dataclass, field

from spec_model.activations import Activation
from spirloom.ir import ArgValue, DType, Graph, Node, Tensor
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes.rewrite import Matcher, fused_name, replace_nodes

CHAIN = "spirloom.fused_elementwise"
_OPERANDS = ("b", "c", "d")
_REVERSED = "reversed "
# An op's built-in activation, and the function that it stands for.
_ACTIVATIONS = {Activation.NONE: None, Activation.RELU: "aten.relu"}


@dataclass(frozen=True)
class _Chain:
    x: Tensor
    steps: tuple[int, ...] = ()
    operands: tuple[Tensor, ...] = ()
    nodes: tuple[Node, ...] = field(default=())

    def arguments(self, library: OpLibrary) -> tuple[ArgValue, ...]:
        given = dict(zip(_OPERANDS, self.operands, strict=False))
        return library.complete(CHAIN, {"x": self.x, "steps": self.steps, **given})


@dataclass(frozen=True, slots=True)
class Step:
    """One function of a fused call. `is_reversed`: the operand is its first argument."""

    op: str
    operand: Tensor | None
    is_reversed: bool


def chain_steps(library: OpLibrary, node: Node) -> tuple[Tensor, list[Step]]:
    """The tensor and the functions of a call of CHAIN."""
    functions = library.params(CHAIN)["functions"]
    assert isinstance(functions, dict)
    names = list(functions)
    x, codes = library.arg(node, "x"), library.arg(node, "steps")
    assert isinstance(x, Tensor) and isinstance(codes, tuple)
    steps = []
    for code in codes:
        index, operand = divmod(code, 4) if isinstance(code, int) else (0, 0)
        if index:
            name = names[index - 1]
            value = library.arg(node, _OPERANDS[operand - 1]) if operand else None
            other = value if isinstance(value, Tensor) else None
            steps.append(Step(name.removeprefix(_REVERSED), other, name.startswith(_REVERSED)))
    return x, steps


def fuse_elementwise(graph: Graph, library: OpLibrary) -> None:
    """Fuses, for example, relu(x * a + b) into one call, if nothing else reads the intermediate
    results.
    """
    if library.has(CHAIN):
        _Fuser(graph, library).run()


class _Fuser:
    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._graph = graph
        self._library = library
        self._matcher = Matcher(graph)
        functions = library.params(CHAIN)["functions"]
        assert isinstance(functions, dict)
        self._codes = {name: 4 * number for number, name in enumerate(functions, start=1)}

    def run(self) -> None:
        chains: dict[Tensor, _Chain] = {}  # by result
        for node in self._graph.nodes:
            found = self._extended(node, chains)
            if found is not None:
                for part in found.nodes[:-1]:
                    chains.pop(part.outputs[0], None)
                chains[node.outputs[0]] = found
        replacements: dict[Node, Node | None] = {}
        for chain in chains.values():
            if len({node.op for node in chain.nodes}) < 2:
                continue  # a selective library with this single operator may lack the fused one
            *inner, last = chain.nodes
            name = fused_name(inner[0], *inner[1:], last)
            replacements |= dict.fromkeys(inner)
            arguments = chain.arguments(self._library)
            replacements[last] = Node(CHAIN, arguments, last.outputs, name)
        replace_nodes(self._graph, replacements)

    def _extended(self, node: Node, chains: dict[Tensor, _Chain]) -> _Chain | None:
        """The longest chain that ends with a node. None if the node does not extend a chain."""
        found: list[_Chain] = []
        for value, function, other in self._readings(node):
            starts = [_Chain(value)]
            if value in chains and self._matcher.private(value):
                starts.append(chains[value])
            found += [c for start in starts if (c := self._with(start, node, function, other))]
        return max(found, key=lambda chain: len(chain.nodes)) if found else None

    def _readings(self, node: Node) -> list[tuple[Tensor, str, Tensor | None]]:
        """All interpretations of a node as (chain value, function, second operand)."""
        total = node.outputs[0]
        operands = [value for value in node.args[:2] if isinstance(value, Tensor)]
        if not operands:
            return []
        first, second = operands[0], operands[1] if len(operands) > 1 else None
        readings = [(first, node.op, second)]
        if second is not None:
            swapped = _REVERSED + node.op
            readings.append((second, swapped if swapped in self._codes else node.op, first))
        return [
            (value, function, other)
            for value, function, other in readings
            if function in self._codes
            and value.data is None
            and (value.shape, value.dtype) == (total.shape, total.dtype)
            and total.dtype in (DType.F32, DType.F16)
            and (other is None or other.dtype is total.dtype)
        ]

    def _with(
        self, chain: _Chain, node: Node, function: str, other: Tensor | None
    ) -> _Chain | None:
        """The chain with one more function, if the operator supports its length."""
        operands, steps = chain.operands, [self._codes[function]]
        if other is not None:
            if other not in operands:
                operands = (*operands, other)
            steps[0] += operands.index(other) + 1
        if self._library.has_arg(node.op, "alpha") and self._library.arg(node, "alpha") != 1:
            return None
        if self._library.has_arg(node.op, "activation"):
            activation = self._library.arg(node, "activation")
            if not isinstance(activation, int) or activation not in _ACTIVATIONS:
                return None
            finish = _ACTIVATIONS[Activation(activation)]
            steps += [self._codes[finish]] if finish else []
        longer = _Chain(chain.x, (*chain.steps, *steps), operands, (*chain.nodes, node))
        if len(operands) > len(_OPERANDS):
            return None
        try:
            self._library.infer(CHAIN, longer.arguments(self._library))
        except OpError:
            return None
        return longer
