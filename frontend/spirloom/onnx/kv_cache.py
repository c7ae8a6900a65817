"""States (an output fed back as an input), and KV caches that grow made into fixed-size states."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from spirloom.builder import Builder
from spirloom.errors import ImportFailure
from spirloom.ir import ArgValue, Array, DType, Graph, Node, State, Tensor
from spirloom.ops import OpError, OpLibrary
from spirloom.passes.cleanup import VIEW
from spirloom.sizes import Varying
from spirloom.varying.specialize import specialize

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


_ATTENTION = "aten.scaled_dot_product_attention"
_LEFT_OUT = (
    "A mask that is an input and never hides a row can be left out: --fix MASK=FILE.npy, a single "
    "one that attention broadcasts (docs/how-to/kv-cache.md)"
)
_ROWS = 2  # the dim of rows in [batch, head, row, column]


@dataclass(frozen=True, slots=True)
class _Cache:
    past: Tensor
    joined: Node
    new: Tensor
    symbol: str

    @property
    def present(self) -> Tensor:
        """What the model gives."""
        return self.joined.outputs[0]


def fix_growing_caches(graph: Graph, growing: Pairs, library: OpLibrary) -> Graph:
    """The graph with the pairs as states of their greatest size, and a state that counts rows.

    `graph` has been optimised, and its symbols say how many rows there are. Raises ImportFailure
    where it is not proven that the results stay the same.
    """
    return _Grower(graph, growing, library).run() if growing else graph


class _Grower:
    def __init__(self, graph: Graph, growing: Pairs, library: OpLibrary) -> None:
        self._graph = graph
        self._library = library
        self._uses = graph.uses()
        self._makers = graph.producers()
        caches = [self._cache(before, after) for before, after in growing.items()]
        self._caches = {cache.present: cache for cache in caches}
        self._sources: dict[Tensor, _Cache] = {}  # of what a cache gives, and of views of that
        for cache in caches:
            self._trace(cache.present, cache)
        self._lengths: dict[str, Tensor] = {}
        self._ends: dict[tuple[str, int], Tensor] = {}  # by symbol and count of queries
        self._build = Builder(library, Graph())

    def run(self) -> Graph:
        """The graph, of new nodes in the places of old ones."""
        graph, caches = self._graph, list(self._caches.values())
        new = self._build.graph
        gone = {c.past for c in caches} | set(self._caches)
        new.inputs = [t for t in graph.inputs if t not in gone]
        new.outputs = [t for t in graph.outputs if t not in gone]
        new.states, new.producer = list(graph.states), graph.producer
        new.symbols = tuple(s for s in graph.symbols if s.name not in {c.symbol for c in caches})
        steps: dict[str, int] = {}
        for cache in caches:
            count = int(cache.new.shape[_ROWS])
            if steps.setdefault(cache.symbol, count) != count:
                self._refuse(cache.past.name, f"caches of '{cache.symbol}' grow by other counts")
        for symbol in steps:
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
        for symbol, count in steps.items():
            self._build.name = f"{symbol} + {count}"
            after = self._sum(self._lengths[symbol], np.asarray([count]))
            new.states.append(State(self._lengths[symbol], after))
        new.outputs = [mapping.get(t, t) for t in new.outputs]
        self._check_free(new, set(steps))
        return new if new.symbols else specialize(new, {}, self._library)

    def _cache(self, before: str, after: str) -> _Cache:
        """The pair, if what it becomes is a row more of what it was, for attention alone."""
        past = next(t for t in self._graph.inputs if t.name == before)
        present = next(t for t in self._graph.outputs if t.name == after)
        node = self._makers.get(present)
        parts = self._library.arg(node, "tensors") if node and node.op == "aten.cat" else ()
        if node is None or not isinstance(parts, tuple) or len(parts) != 2 or parts[0] is not past:
            self._refuse(before, f"'{after}' is no Concat of it and of one other tensor")
        new = parts[1]
        assert isinstance(new, Tensor)
        varying = [dim for dim, size in enumerate(past.shape) if isinstance(size, Varying)]
        size = past.shape[varying[0]] if varying else 0
        terms = size.expr.terms if isinstance(size, Varying) and size.expr else ()
        rank = len(past.shape)
        if varying != [_ROWS] or rank != 4 or self._library.arg(node, "dim") not in (_ROWS, -2):
            self._refuse(before, "its rows are not the third of four dimensions, joined there")
        if len(terms) != 1 or terms[0][0] != 1 or len(terms[0][1]) != 1:
            self._refuse(before, f"its count of rows, {size}, is no dimension of its own")
        if any(isinstance(size, Varying) for size in new.shape):
            self._refuse(before, "how many rows a run adds varies; fix it by --dim NAME=N")
        for reader in self._uses.get(past, []):
            if reader is not node:
                self._refuse(before, f"'{reader.name}' ({reader.op}) reads it too")
        return _Cache(past, node, new, terms[0][1][0])

    def _trace(self, tensor: Tensor, cache: _Cache) -> None:
        """Attention alone may read it, also by views."""
        self._sources[tensor] = cache
        for reader in self._uses.get(tensor, []):
            if reader.op == VIEW:
                self._trace(reader.outputs[0], cache)
            elif reader.op != _ATTENTION:
                what = f"'{reader.name}' ({reader.op}), no attention, reads '{cache.present.name}'"
                self._refuse(cache.past.name, what)

    def _store(self, cache: _Cache, mapping: dict[Tensor, Tensor]) -> None:
        """The rows behind those that there are, in the state's memory."""
        shape = tuple(int(size) for size in cache.past.shape)
        state = Tensor(cache.past.name, cache.past.dtype, shape)
        self._build.name = cache.joined.name
        src = mapping.get(cache.new, cache.new)
        after = self._build.emit("spirloom.cache_update", cache=state, src=src,
                                 positions=self._lengths[cache.symbol], dim=_ROWS)  # fmt: skip
        after.name = cache.present.name
        mapping[cache.present] = after
        self._build.graph.states.append(State(state, after))

    def _attend(self, node: Node, mapping: dict[Tensor, Tensor]) -> Tensor:
        """Attention over the rows up to those that were added."""
        args = {name: self._library.arg(node, name)
                for name in self._library.arg_names(node.op)}  # fmt: skip
        keys, values = (self._seen(args[name]) for name in ("key", "value"))
        named = ", ".join(cache.past.name for cache in (keys, values) if cache is not None)
        if args["attn_mask"] is not None or args["is_causal"]:
            self._refuse(named, f"'{node.name}' masks what attention sees. {_LEFT_OUT}")
        if keys is None or values is None or keys.symbol != values.symbol or keys is values:
            self._refuse(named, f"keys and values of '{node.name}' are no two caches of one size")
        if keys.new.shape[_ROWS] != values.new.shape[_ROWS]:
            self._refuse(named, "a run adds to the two not the same count of rows")
        query = args["query"]
        assert isinstance(query, Tensor)
        query = mapping.get(query, query)
        positions = self._end(keys, int(query.shape[_ROWS]))
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

    def _seen(self, value: ArgValue) -> _Cache | None:
        """The cache that a tensor is, in its shape."""
        cache = self._sources.get(value) if isinstance(value, Tensor) else None
        if cache is None or not isinstance(value, Tensor):
            return None
        sizes = [[*map(str, tensor.shape)] for tensor in (value, cache.present)]
        if sizes[0] != sizes[1] or "?" in sizes[0]:
            self._refuse(cache.past.name, f"attention reads it as {value}")
        return cache

    def _end(self, cache: _Cache, queries: int) -> Tensor:
        """The last row that each query sees: the last of those that the run adds."""
        added = int(cache.new.shape[_ROWS])
        if queries == added == 1:
            return self._lengths[cache.symbol]
        key = (cache.symbol, queries)
        if key not in self._ends:
            self._build.name = f"{cache.symbol} + {added - 1}"
            self._ends[key] = self._sum(self._lengths[cache.symbol], np.full(queries, added - 1))
        return self._ends[key]

    def _sum(self, length: Tensor, numbers: Array) -> Tensor:
        constant = self._build.constant(numbers.astype(np.int32))
        return self._build.emit("aten.add.Tensor", a=length, b=constant)

    def _check_free(self, graph: Graph, symbols: set[str]) -> None:
        """Whatever a shape or an argument follows from, it is not the count of rows."""
        for tensor in (*graph.inputs, *(t for t in graph.tensors() if t.data is not None)):
            if symbols & set(_names(tensor.shape)):
                self._refuse(", ".join(symbols), f"'{tensor.name}' has a size that follows from it")
        for node in graph.nodes:
            for arg in node.args:
                if symbols & set(_names(arg)):
                    what = f"an argument of '{node.name}' ({node.op}) follows from it"
                    self._refuse(", ".join(symbols), what)

    def _refuse(self, name: str, reason: str) -> NoReturn:
        raise ImportFailure(
            f"The state '{name}' grows, and cannot be written in place: {reason}. Only what "
            "attention without a mask reads can be."
        )


def _names(value: object) -> Iterator[str]:
    """The symbols that an int, or one of several, follows from."""
    if isinstance(value, tuple):
        for item in value:
            yield from _names(item)
    elif isinstance(value, Varying) and value.expr is not None:
        for _, names in value.expr.terms:
            yield from names
