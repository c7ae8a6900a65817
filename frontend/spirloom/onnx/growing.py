"""Caches that grow become caches of a fixed size that runs write in place, where that is proven.

`present = Concat(past, new)` that attention alone reads, which sees all of it, is the same as
writing `new` behind the rows that there are and letting attention see the rows up to there. Nothing
else may depend on how many these are: the graph was made for any count, so what does says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from spirloom.builder import Builder
from spirloom.errors import ImportFailure
from spirloom.ir import ArgValue, Array, DType, Graph, Node, State, Tensor
from spirloom.onnx.states import Pairs
from spirloom.ops import OpError, OpLibrary
from spirloom.passes.views import VIEW
from spirloom.sizes import Varying
from spirloom.varying.specialize import specialize

_ATTENTION = "aten.scaled_dot_product_attention"
_LEFT_OUT = (
    "A mask that is an input and never hides a row can be left out: --fix MASK=FILE.npy, a single "
    "one that attention broadcasts (docs/importing.md)"
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


def grow_in_place(graph: Graph, growing: Pairs, library: OpLibrary) -> Graph:
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
                self._put(self._caches[node.outputs[0]], mapping)
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

    def _put(self, cache: _Cache, mapping: dict[Tensor, Tensor]) -> None:
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
