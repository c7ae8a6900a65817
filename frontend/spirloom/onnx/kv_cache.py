"""States (an output that is the next value of an input), and preallocation of growing KV caches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from spirloom.builder import Builder
from spirloom.errors import ImportFailure
from spirloom.ir import ArgValue, Array, DType, Graph, Node, State, Tensor
from spirloom.number_expr import SymFloat
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes.cleanup import VIEW
from spirloom.sizes import SizeExpr, Varying
from spirloom.symbolic.specialize import specialize

# The name of an input → the name of the output that is its next value.
Pairs = Mapping[str, str]


def state_pairs(texts: Sequence[str], graph: Graph) -> dict[str, str]:
    """The pairs of `--state IN=OUT`. A `*` matches the same text in both names.

    Raises ImportFailure for unknown names and for names in two pairs.
    """
    inputs, outputs = ([t.name for t in side] for side in (graph.inputs, graph.outputs))
    pairs: dict[str, str] = {}
    for text in texts:
        before, equals, after = text.partition("=")
        stars = {before.count("*"), after.count("*")}
        if not (equals and before and after) or stars not in ({0}, {1}):
            raise ImportFailure(f"--state must be IN=OUT, with a * in both or none, not '{text}'.")
        pattern = re.compile(re.escape(before).replace(r"\*", "(.*)"))
        matches = [match for match in map(pattern.fullmatch, inputs) if match]
        found = {m.string: after.replace("*", m[1] if m.re.groups else "") for m in matches}
        if not found:
            raise ImportFailure(
                f"--state {text} matches no input. The inputs are: {', '.join(inputs)}."
            )
        for name, other in found.items():
            if other not in outputs:
                raise ImportFailure(
                    f"--state {text}: '{other}', the next value of '{name}', is not an output. The "
                    f"outputs are: {', '.join(outputs)}."
                )
            if name in pairs or other in pairs.values():
                raise ImportFailure(f"--state {text}: '{name}' or '{other}' is already a state.")
            pairs[name] = other
    return pairs


def make_states(graph: Graph, pairs: Pairs) -> dict[str, str]:
    """Converts pairs of equal shapes to states, before any pass. Returns the others, which grow."""
    inputs = {tensor.name: tensor for tensor in graph.inputs}
    outputs = {tensor.name: tensor for tensor in graph.outputs}
    growing: dict[str, str] = {}
    for before, after in pairs.items():
        old, new = inputs[before], outputs[after]
        if old.dtype is not new.dtype:
            raise ImportFailure(f"State '{before}' is {old}, but '{after}' is {new}.")
        if tuple(old.shape) != tuple(new.shape):
            growing[before] = after
            continue
        graph.inputs.remove(old)
        graph.outputs.remove(new)
        graph.states.append(State(old, new))
    return growing


def refuse_growing(graph: Graph, growing: Pairs) -> None:
    """Raises ImportFailure for growing caches in a graph with fixed sizes."""
    shapes = {t.name: t for t in (*graph.inputs, *graph.outputs)}
    for before, after in growing.items():
        raise ImportFailure(
            f"State '{before}' is {shapes[before]}, but '{after}' is {shapes[after]}: a growing "
            "cache. Set the bounds of its length: --dim NAME=1..MAX_LENGTH."
        )


def state_lines(graph: Graph) -> list[str]:
    """A line for each state: its type, and how a run updates it."""
    makers = graph.producers()
    lines = []
    for state in graph.states:
        maker = makers.get(state.update)
        if maker is not None and maker.op == "spirloom.cache_update":
            how = "updated in place"
        elif maker is not None and maker.op == "aten.add.Tensor" and state.tensor.shape == (1,):
            how = f"a counter from 0, next value '{state.update.name}'"
        else:
            how = f"next value '{state.update.name}'"
        lines.append(f"state {state.tensor.name}: {state.tensor}, {how}")
    return lines


_ATTENTION = "aten.scaled_dot_product_attention"
_REMEDY = (
    "If the mask is an input that masks no position, replace it with a constant that broadcasts: "
    "--constant-input MASK=FILE.npy (page 'Use a KV cache' of the documentation)"
)
_LENGTH = 2  # the dimension of positions in [batch, head, position, size]


@dataclass(frozen=True, slots=True)
class _Cache:
    past: Tensor
    joined: Node
    new: Tensor
    symbol: str

    @property
    def present(self) -> Tensor:
        """The output of the model."""
        return self.joined.outputs[0]


def preallocate_caches(graph: Graph, growing: Pairs, library: OpLibrary) -> Graph:
    """The graph with the pairs as states of their maximum size, and a state for their length.

    `graph` is optimized, and its symbols are the cache lengths. Raises ImportFailure if the results
    are not proven to be equal.
    """
    return _Preallocation(graph, growing, library).run() if growing else graph


class _Preallocation:
    def __init__(self, graph: Graph, growing: Pairs, library: OpLibrary) -> None:
        self._graph = graph
        self._library = library
        self._uses = graph.uses()
        self._makers = graph.producers()
        caches = [self._cache(before, after) for before, after in growing.items()]
        self._caches = {cache.present: cache for cache in caches}
        self._sources: dict[Tensor, _Cache] = {}  # caches of `present` values and their views
        for cache in caches:
            self._trace(cache.present, cache)
        self._lengths: dict[str, Tensor] = {}
        self._ends: dict[tuple[str, int], Tensor] = {}  # by symbol and number of queries
        self._build = Builder(library, Graph())

    def run(self) -> Graph:
        """The graph with caches and attention replaced."""
        graph, caches = self._graph, list(self._caches.values())
        new = self._build.graph
        removed = {c.past for c in caches} | set(self._caches)
        new.inputs = [t for t in graph.inputs if t not in removed]
        new.outputs = [t for t in graph.outputs if t not in removed]
        new.states, new.producer = list(graph.states), graph.producer
        new.guards, new.int_inputs = graph.guards, graph.int_inputs
        new.symbols = tuple(s for s in graph.symbols if s.name not in {c.symbol for c in caches})
        increments: dict[str, int] = {}
        for cache in caches:
            count = int(cache.new.shape[_LENGTH])
            if increments.setdefault(cache.symbol, count) != count:
                self._refuse(cache.past.name, f"caches of '{cache.symbol}' grow differently")
        for symbol in increments:
            self._lengths[symbol] = Tensor(symbol, DType.I32, (1,))
        mapping: dict[Tensor, Tensor] = {}
        for node in graph.nodes:
            if node.outputs[0] in self._caches:
                self._store(self._caches[node.outputs[0]], mapping)
            elif any(tensor in self._sources for tensor in node.inputs()):
                if node.op != VIEW:
                    mapping[node.outputs[0]] = self._attend(node, mapping)
            else:
                node.replace_inputs(mapping)
                new.nodes.append(node)
        for symbol, count in increments.items():
            self._build.name = f"{symbol} + {count}"
            after = self._sum(self._lengths[symbol], np.asarray([count]))
            new.states.append(State(self._lengths[symbol], after))
        new.outputs = [mapping.get(t, t) for t in new.outputs]
        self._check_independent(new, set(increments))
        return new if new.symbols else specialize(new, {}, self._library)

    def _cache(self, before: str, after: str) -> _Cache:
        """The cache of a pair. `present` must be past and new positions, concatenated."""
        past = next(t for t in self._graph.inputs if t.name == before)
        present = next(t for t in self._graph.outputs if t.name == after)
        node = self._makers.get(present)
        parts = self._library.arg(node, "tensors") if node and node.op == "aten.cat" else ()
        if node is None or not isinstance(parts, tuple) or len(parts) != 2 or parts[0] is not past:
            self._refuse(before, f"'{after}' is not a Concat of it and one other tensor")
        new = parts[1]
        assert isinstance(new, Tensor)
        varying = [dim for dim, size in enumerate(past.shape) if isinstance(size, Varying)]
        size = past.shape[varying[0]] if varying else 0
        symbol = str(size)
        rank = len(past.shape)
        if varying != [_LENGTH] or rank != 4 or self._library.arg(node, "dim") not in (_LENGTH, -2):
            self._refuse(before, "it is not concatenated along the third of four dimensions")
        if symbol not in {symbol.name for symbol in self._graph.symbols}:
            self._refuse(before, f"its length, {size}, is not a named dimension")
        if any(isinstance(size, Varying) for size in new.shape):
            self._refuse(before, "the number of positions per run varies. Fix it with --dim NAME=N")
        for reader in self._uses.get(past, []):
            if reader is not node:
                self._refuse(before, f"'{reader.name}' ({reader.op}) also reads it")
        return _Cache(past, node, new, symbol)

    def _trace(self, tensor: Tensor, cache: _Cache) -> None:
        """Checks that only attention reads the tensor, directly or through views."""
        self._sources[tensor] = cache
        for reader in self._uses.get(tensor, []):
            if reader.op == VIEW:
                self._trace(reader.outputs[0], cache)
            elif reader.op != _ATTENTION:
                what = f"'{reader.name}' ({reader.op}), not attention, reads '{cache.present.name}'"
                self._refuse(cache.past.name, what)

    def _store(self, cache: _Cache, mapping: dict[Tensor, Tensor]) -> None:
        """Appends the new positions in the memory of the state."""
        shape = tuple(int(size) for size in cache.past.shape)
        state = Tensor(cache.past.name, cache.past.dtype, shape)
        self._build.name = cache.joined.name
        src = mapping.get(cache.new, cache.new)
        after = self._build.emit("spirloom.cache_update", cache=state, src=src,
                                 positions=self._lengths[cache.symbol], dim=_LENGTH)  # fmt: skip
        after.name = cache.present.name
        mapping[cache.present] = after
        self._build.graph.states.append(State(state, after))

    def _attend(self, node: Node, mapping: dict[Tensor, Tensor]) -> Tensor:
        """Attention over all positions, including the new ones."""
        args = {name: self._library.arg(node, name)
                for name in self._library.arg_names(node.op)}  # fmt: skip
        keys, values = (self._cache_of(args[name]) for name in ("key", "value"))
        named = ", ".join(cache.past.name for cache in (keys, values) if cache is not None)
        if args["attn_mask"] is not None or args["is_causal"]:
            self._refuse(named, f"'{node.name}' has a mask. {_REMEDY}")
        if keys is None or values is None or keys.symbol != values.symbol or keys is values:
            self._refuse(named, f"keys and values of '{node.name}' are not two equal caches")
        if keys.new.shape[_LENGTH] != values.new.shape[_LENGTH]:
            self._refuse(named, "a run appends different numbers of positions to the two")
        query = args["query"]
        assert isinstance(query, Tensor)
        query = mapping.get(query, query)
        positions = self._end(keys, int(query.shape[_LENGTH]))
        self._build.name = node.name
        try:
            result = self._build.emit(
                "spirloom.cached_attention", query=query, keys=mapping[keys.present],
                values=mapping[values.present], positions=positions, heads_first=True,
                scale=args["scale"],
            )  # fmt: skip
        except OpError as error:
            self._refuse(named, f"'{node.name}': {error}")
        result.name = node.outputs[0].name
        return result

    def _cache_of(self, value: ArgValue) -> _Cache | None:
        """The cache of a tensor that has its shape."""
        cache = self._sources.get(value) if isinstance(value, Tensor) else None
        if cache is None or not isinstance(value, Tensor):
            return None
        sizes = [[*map(str, tensor.shape)] for tensor in (value, cache.present)]
        if sizes[0] != sizes[1] or "?" in sizes[0]:
            self._refuse(cache.past.name, f"attention reads it as {value}")
        return cache

    def _end(self, cache: _Cache, queries: int) -> Tensor:
        """The last position that each query attends to: the last one that the run appends."""
        added = int(cache.new.shape[_LENGTH])
        if queries == added == 1:
            return self._lengths[cache.symbol]
        key = (cache.symbol, queries)
        if key not in self._ends:
            self._build.name = f"{cache.symbol} + {added - 1}"
            self._ends[key] = self._sum(self._lengths[cache.symbol], np.full(queries, added - 1))
        return self._ends[key]

    def _sum(self, length: Tensor, values: Array) -> Tensor:
        constant = self._build.constant(values.astype(np.int32))
        return self._build.emit("aten.add.Tensor", a=length, b=constant)

    def _check_independent(self, graph: Graph, symbols: set[str]) -> None:
        """Checks that no shape and no argument depends on a cache length."""
        for tensor in (*graph.inputs, *(t for t in graph.tensors() if t.data is not None)):
            if symbols & set(_names(tensor.shape)):
                self._refuse(", ".join(symbols), f"'{tensor.name}' has a size that depends on it")
        for node in graph.nodes:
            for arg in node.args:
                if symbols & set(_names(arg)):
                    what = f"an argument of '{node.name}' ({node.op}) depends on it"
                    self._refuse(", ".join(symbols), what)

    def _refuse(self, name: str, reason: str) -> NoReturn:
        raise ImportFailure(
            f"State '{name}' grows and cannot be updated in place: {reason}. Only attention "
            "without a mask may read it."
        )


def _names(value: object) -> Iterator[str]:
    """The symbols that a number, or an int of a tuple, depends on."""
    if isinstance(value, tuple):
        for item in value:
            yield from _names(item)
    elif isinstance(value, Varying) and value.expr is not None:
        yield from value.expr.symbols()
    elif isinstance(value, SymFloat):
        for leaf in value.expr.leaves():
            yield from leaf.symbols() if isinstance(leaf, SizeExpr) else ()
