"""Finds the nodes that stay float32 with --fp16, by the rules of fp16_rules.

One pass backward over the graph finds the readers that gain from a float32 value; one pass forward
then decides each node. A float32 region ends where a value fits fp16 again, and casts are needed
only at its borders.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fnmatch import fnmatchcase

from spec_model.traits import Trait
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes.elementwise_fusion import CHAIN, Step, chain_steps
from spirloom.passes.fp16_rules import (
    Reason,
    Role,
    fits,
    reason_of_constant,
    reason_of_number,
    role_of,
    squares,
)
from spirloom.passes.rewrite import CLAMPS, COPY, DIV, MUL, POWERS, SQUARE, exponent


class State(Enum):
    """A float tensor in a graph that is being converted to fp16."""

    FP16 = "stored in fp16"
    FITS = "float32, and fits fp16"
    EXACT = "float32, from integers or positions"
    RANGE = "float32, and may exceed fp16"
    INVERSE = "float32, the inverse of a value of state RANGE"
    ISLAND = "float32 until the model casts it"


@dataclass(slots=True)
class Regions:
    """The nodes that stay float32 with reasons, and float32 tensors that must be clamped before a
    conversion to fp16.
    """

    nodes: dict[Node, Reason] = field(default_factory=dict)
    clamped: set[Tensor] = field(default_factory=set)


def float32_regions(graph: Graph, library: OpLibrary, keep: Collection[str] = ()) -> Regions:
    """The regions of a graph. `keep`: name patterns of nodes that stay float32."""
    return _Finder(graph, library, keep).run()


def matches(name: str, keep: Collection[str]) -> bool:
    """Whether the user keeps a node in float32. A fused node also has the names of its sources."""
    names = [name, *name.split(" + ")]
    return any(fnmatchcase(each, glob) for glob in keep for each in names)


@dataclass(slots=True)
class _Readers:
    """The readers of a tensor."""

    all: bool = True  # each of them stays float32 for its own reasons
    any: bool = False  # one of them does
    gains: bool = False  # one of them has a better result with a float32 operand
    exact: bool = False  # the value becomes an angle or an integer
    exact_product: bool = False  # the same, also through one GEMM
    sandwich: bool = True  # all stay float32, also through GEMMs
    count: int = 0

    def add(self, other: _Readers) -> None:
        """Adds one more reader."""
        self.all &= other.all
        self.any |= other.any
        self.gains |= other.gains
        self.exact |= other.exact
        self.exact_product |= other.exact_product
        self.sandwich &= other.sandwich
        self.count += 1


class _Finder:
    def __init__(self, graph: Graph, library: OpLibrary, keep: Collection[str]) -> None:
        self._graph = graph
        self._library = library
        self._keep = keep
        self._readers: dict[Tensor, _Readers] = {}
        self._states: dict[Tensor, State] = {}
        self._stored = set(graph.given())  # elements of inputs and constants
        self._limits: dict[tuple[str, Tensor], Reason | None] = {}
        self._found = Regions()

    def run(self) -> Regions:
        for tensor in self._graph.results():
            self._reader(tensor).add(_Readers(all=False, sandwich=False, gains=True))
        for node in reversed(self._graph.nodes):
            reader = self._as_reader(node)
            for tensor in _computed(node):
                self._reader(tensor).add(reader)
        for tensor in self._graph.given():
            exact = self._reader(tensor).exact_product
            self._states[tensor] = State.EXACT if exact else State.FP16
        for node in self._graph.nodes:
            self._decide(node)
        return self._found

    def _has(self, node: Node, trait: Trait) -> bool:
        return self._library.has_trait(node.op, trait)

    def _limit(self, op: str, tensor: Tensor) -> Reason | None:
        """reason_of_constant(), which reads each constant once."""
        if (op, tensor) not in self._limits:
            self._limits[op, tensor] = reason_of_constant(op, tensor)
        return self._limits[op, tensor]

    def _reader(self, tensor: Tensor) -> _Readers:
        return self._readers.setdefault(tensor, _Readers())

    def _after(self, node: Node) -> _Readers:
        """The readers of all outputs of a node."""
        merged = _Readers()
        for tensor in node.outputs:
            if tensor in self._readers:
                merged.add(self._readers[tensor])
        return merged if merged.count else _Readers(all=False, sandwich=False)

    def _as_reader(self, node: Node) -> _Readers:
        """A node as a reader of its inputs."""
        role, after = role_of(node.op, self._library), self._after(node)
        if node.op == COPY:
            integer = node.outputs[0].dtype not in (DType.F32, DType.F16)
            if node.outputs[0].dtype is DType.F32:
                return after
            return _Readers(integer, integer, integer, integer, integer, integer)
        state, _ = self._transferred(node, [State.FP16] * len(list(_computed(node))))
        if matches(node.name, self._keep) or (state is not State.FP16 and after.gains):
            return _Readers(True, True, True, after.exact, after.exact_product, True)
        match role:
            case Role.FOLLOWS | Role.GROWS | Role.INVERTS | Role.COMPRESSES:
                gains = after.gains or not self._has(node, Trait.EXACT)
                return replace(after, gains=gains)
            case Role.MULTIPLIES:
                gains = after.exact or after.sandwich
                return _Readers(False, False, gains, False, after.exact, after.sandwich)
            case Role.BOUNDS | Role.READS:
                exact = self._has(node, Trait.PERIODIC)
                return _Readers(False, False, True, exact, exact, False)
        return _Readers(all=False, sandwich=False)

    def _decide(self, node: Node) -> None:
        if self._has(node, Trait.EXACT) and all(
            t in self._stored or t.data is not None for t in node.inputs()
        ):
            self._stored.update(node.outputs)
        if all(t.dtype is not DType.F32 for t in (*node.inputs(), *node.outputs)):
            return  # integers, or fp16 in the model
        read = list(_computed(node))
        states = [self._states.get(t, State.FP16) for t in read]
        state, reason = self._decided(node, states)
        for tensor in node.outputs:
            self._states[tensor] = state if tensor.dtype is DType.F32 else State.FP16
        if reason is None:
            return
        self._found.nodes[node] = reason
        follows = role_of(node.op, self._library) is Role.FOLLOWS
        if reason is Reason.LARGE or (follows and any(t in self._found.clamped for t in read)):
            self._found.clamped.update(node.outputs)

    def _decided(self, node: Node, states: Sequence[State]) -> tuple[State, Reason | None]:
        """The state of a node's results, and the reason if it stays float32."""
        role, after = role_of(node.op, self._library), self._after(node)
        wide = any(s is not State.FP16 for s in states)
        if matches(node.name, self._keep):
            return State.RANGE, Reason.OPTION
        if node.op == COPY:
            return self._cast(node, states, after)
        if State.ISLAND in states:
            return State.ISLAND, Reason.ISLAND
        if role is Role.CASTS:
            return (State.EXACT, Reason.EXACT) if after.exact_product else (State.FP16, None)
        if role in (Role.BOUNDS, Role.READS):
            # A logarithm of fp16 probabilities has lost those below its range.
            return (State.FITS, Reason.FOLLOWS) if wide or after.any else (State.FP16, None)
        if role is Role.STORES:
            return State.FP16, None
        if role is Role.MULTIPLIES:
            if after.exact and State.EXACT in states:
                return State.EXACT, Reason.EXACT
            if after.sandwich and {State.EXACT, State.RANGE} & set(states):
                return State.RANGE, Reason.FOLLOWS
            return State.FP16, None
        state, reason = self._transferred(node, states)
        if not wide and reason is Reason.RANGE and not after.gains:
            return State.FP16, None  # fp16 readers would round a float32 result as the node does
        demanded = after.any if self._has(node, Trait.REDUCES) else after.all
        if state is State.FP16 and demanded and not self._has(node, Trait.EXACT):
            return State.RANGE, Reason.FOLLOWS
        if state is State.FP16 and set(states) - {State.FP16, State.FITS}:
            return State.FP16, Reason.FOLLOWS
        return (state, reason or Reason.FOLLOWS) if state is not State.FP16 else (state, None)

    def _cast(
        self, node: Node, states: Sequence[State], after: _Readers
    ) -> tuple[State, Reason | None]:
        source, target = node.args[0], node.outputs[0].dtype
        assert isinstance(source, Tensor)
        if target is not DType.F32:
            return State.FP16, Reason.FOLLOWS if set(states) - {State.FP16} else None
        if source.dtype is DType.F32:
            state = states[0] if states else State.FP16
            return state, Reason.FOLLOWS if state is not State.FP16 else None
        if source.dtype is DType.F16:
            stored = source in self._stored or source.data is not None
            return (State.FP16, None) if stored else (State.ISLAND, Reason.ISLAND)
        # Integers of 8 bits are exact in fp16; sums of their products are not.
        if source.dtype is DType.I32 or after.exact_product:
            return State.EXACT, Reason.EXACT
        return State.FP16, None

    def _transferred(self, node: Node, states: Sequence[State]) -> tuple[State, Reason | None]:
        """The state of the result of an operator that computes from these states by elements or by
        reduction, and the reason if the operator causes it.
        """
        if node.op == CHAIN:
            return self._chain(node, states)
        named = self._library.named_args(node).items()
        for reason in (
            *(self._limit(node.op, t) for t in node.inputs()),
            *(reason_of_number(name, value) for name, value in named),
        ):
            if reason is not None:
                return (State.ISLAND if State.ISLAND in states else State.RANGE), reason
        by_tensor = dict(zip(_computed(node), states, strict=True))
        operands = [by_tensor.get(arg) for arg in node.args[:2] if isinstance(arg, Tensor)]
        if squares(node.op, node.args):
            return State.RANGE, Reason.RANGE
        if node.op in CLAMPS and fits(*(node.args[1:3])) and _merged(states) is not State.FP16:
            return State.FITS, None
        role = role_of(node.op, self._library)
        if node.op in POWERS:
            power = exponent(node)
            if power is not None and power < 0:
                role = Role.INVERTS
            elif power is not None and power <= 1:
                role = Role.FOLLOWS
        return _result(node.op, role, states, operands)

    def _chain(self, node: Node, states: Sequence[State]) -> tuple[State, Reason | None]:
        """The state after the last step. Steps before it are in registers, in float32."""
        by_tensor: dict[Tensor, State] = dict(zip(_computed(node), states, strict=True))
        x, steps = chain_steps(self._library, node)
        value, cause = by_tensor.get(x, State.FP16), None
        rounded = False  # whether fp16 operands would change a constant
        for index, step in enumerate(steps):
            limit = None if step.operand is None else self._limit(step.op, step.operand)
            if limit is not None:
                value, cause, rounded = State.RANGE, limit, True
                continue
            square = index == 0 and step.op == MUL and step.operand is x
            op = SQUARE if square else step.op
            value, reason = _result(op, *self._operands(step, op, value, by_tensor))
            if not rounded and (reason is not None or value in (State.FITS, State.FP16)):
                cause = reason
        wide = set(states) - {State.FP16}
        if value is State.FP16 and rounded:
            value = State.FITS
        if value is State.FITS and not wide and cause is None:
            value = State.FP16  # only a value between the steps may exceed fp16
        return value, cause if value is not State.FP16 else None

    def _operands(
        self, step: Step, op: str, value: State, by_tensor: dict[Tensor, State]
    ) -> tuple[Role, list[State], list[State | None]]:
        role = role_of(op, self._library)
        if step.operand is None:
            return role, [value], [value]
        other = by_tensor.get(step.operand)
        both: list[State | None] = [other, value] if step.is_reversed else [value, other]
        return role, [state for state in both if state is not None], both


def _computed(node: Node) -> Iterator[Tensor]:
    """The float32 tensors that a node reads, without constants, once each."""
    found = (t for t in node.inputs() if t.dtype is DType.F32 and t.data is None)
    yield from dict.fromkeys(found)


def _result(
    op: str, role: Role, states: Iterable[State], operands: Sequence[State | None]
) -> tuple[State, Reason | None]:
    """The state of a result. `operands` are the states of the first two arguments (None: a
    constant).
    """
    states = list(states)
    if State.ISLAND in states:
        return State.ISLAND, None
    if role is Role.GROWS:
        return State.RANGE, Reason.RANGE
    if role is Role.INVERTS:
        inverse = operands[:1] == [State.INVERSE]
        return State.RANGE if inverse else State.INVERSE, Reason.RANGE
    if role is Role.COMPRESSES:
        return State.FITS, Reason.RANGE
    if role is Role.BOUNDS:
        return State.FP16, None
    if op == MUL and State.INVERSE in states:
        return _scaled(states), None
    if op == DIV and len(operands) == 2:
        dividend, divisor = operands
        if divisor is State.INVERSE:
            return State.RANGE, None
        if divisor is State.RANGE:
            if dividend is None:
                return State.INVERSE, None
            return State.EXACT if dividend is State.EXACT else State.FITS, None
    return _merged(states), None


def _scaled(states: Sequence[State]) -> State:
    """A product with an inverse: a normalized value."""
    others = [s for s in states if s is not State.INVERSE]
    if not others:
        return State.INVERSE
    return State.EXACT if set(others) == {State.EXACT} else State.FITS


def _merged(states: Iterable[State]) -> State:
    """The state of a value of several others: the wider one, but values that fit become fp16 where
    they meet fp16.
    """
    found = set(states)
    for state in (State.ISLAND, State.RANGE):
        if state in found:
            return state
    if State.INVERSE in found:
        return State.INVERSE if found == {State.INVERSE} else State.RANGE
    if State.EXACT in found:
        return State.FITS if State.FP16 in found else State.EXACT
    return State.FITS if found == {State.FITS} else State.FP16
