"""A graph that torch.compile calls: compiled per set of weights and sizes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from spirloom.partition import Report
from spirloom.torch.fx_program import TracedGraph, ranges_of, read_traced, sizes_of
from spirloom.torch.segments import CompileSettings, Execution, SizeCache
from spirloom.torch.weight_snapshot import WeightSnapshot

T = TypeVar("T")

# Modules of one class share a graph. Maximum number of cached weight sets, each with a copy of the
# weights, and of cached sets of sizes per weight set, which share the copy if possible.
_MAX_WEIGHT_SETS, _MAX_SIZE_SETS = 64, 8
# A weight that was written more often since its upload becomes an input.
_MAX_WRITES = 2


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A graph with its weights, and its executions by sizes."""

    traced: TracedGraph
    weights: Mapping[str, Any]
    snapshot: WeightSnapshot
    cache: SizeCache
    runs: dict[Hashable, Execution]


class TracedModule:
    """Called with a list of all inputs, which it clears. `fixed`: the indices of weights.

    `on_report` receives the partition of each preparation.
    """

    _boxed_call = True

    def __init__(
        self,
        module: Any,
        fixed: Sequence[int],
        settings: CompileSettings,
        on_report: Callable[[Report], None],
    ) -> None:
        self._module = module
        self._settings = settings
        self._on_report = on_report
        self._names = [n.name for n in module.graph.nodes if n.op == "placeholder"]
        self._fixed = list(fixed)
        self._dynamic = [i for i in range(len(self._names)) if i not in self._fixed]
        self._written: dict[int, int] = {}
        self._ready: dict[Hashable, _Prepared] = {}

    def __call__(self, args: list[Any]) -> list[Any]:
        values = list(args)
        args.clear()
        snapshot, run = self._lookup(values)
        changed = snapshot.changed()
        if changed:
            self._invalidate(changed)
            _, run = self._lookup(values)
        return run(values)

    def _lookup(self, values: Sequence[Any]) -> tuple[WeightSnapshot, Execution]:
        """The execution for the addresses of the weights and the sizes of the other inputs."""
        addresses = tuple([values[i].data_ptr() for i in self._fixed])
        sizes = tuple([getattr(values[i], "shape", values[i]) for i in self._dynamic])
        ready = self._ready.get(addresses)
        if ready is None:
            ready = self._prepared(values)
            _insert(self._ready, addresses, ready, _MAX_WEIGHT_SETS)
        if sizes not in ready.runs:
            _insert(ready.runs, sizes, self._run(ready, values), _MAX_SIZE_SETS)
        return ready.snapshot, ready.runs[sizes]

    def _prepared(self, values: Sequence[Any]) -> _Prepared:
        weights = {self._names[i]: values[i] for i in self._fixed}
        traced = read_traced(self._module, weights)
        snapshot = WeightSnapshot({i: values[i] for i in self._fixed})
        runs: dict[Hashable, Execution] = {}
        cache = SizeCache(traced, self._settings, ranges_of(self._module), runs.clear)
        return _Prepared(traced, weights, snapshot, cache, runs)

    def _run(self, ready: _Prepared, values: Sequence[Any]) -> Execution:
        sizes = sizes_of(self._module, values)
        plan, found = ready.cache.at(sizes)
        execution = Execution(ready.traced, ready.weights, sizes, plan, found)
        self._on_report(execution.report)
        return execution

    def _invalidate(self, changed: Sequence[int]) -> None:
        """Discards all preparations. Weights that change often become inputs."""
        for i in changed:
            self._written[i] = self._written.get(i, 0) + 1
        often = [i for i in changed if self._written[i] > _MAX_WRITES]
        self._fixed = [i for i in self._fixed if i not in often]
        self._dynamic = sorted([*self._dynamic, *often])
        self._ready.clear()


def _insert(cache: dict[Hashable, T], key: Hashable, value: T, capacity: int) -> None:
    """Adds a value; evicts the oldest one at capacity."""
    if len(cache) >= capacity:
        cache.pop(next(iter(cache)))
    cache[key] = value
