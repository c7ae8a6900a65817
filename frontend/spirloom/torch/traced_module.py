"""A graph that torch.compile calls: prepared for the weights and sizes that come."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from spirloom.partition import Report
from spirloom.torch.fx_program import Traced, ranges_of, read_traced, sizes_of
from spirloom.torch.segments import Builds, Execution, Setting
from spirloom.torch.weight_snapshot import Frozen

T = TypeVar("T")

# Modules of one kind share a graph: for so many sets of weights, and so many sets of sizes of
# each, what was prepared is kept. It has a copy of the weights, which sizes share if they can.
_MODULES, _SIZES = 64, 8
# A weight that was written so often since it was uploaded is an input like others.
_WRITES = 2


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A graph with its weights, and what runs it at the sizes that came."""

    traced: Traced
    weights: Mapping[str, Any]
    frozen: Frozen
    builds: Builds
    runs: dict[Hashable, Execution]


class TracedModule:
    """Called with a list of all inputs, which it empties; `fixed` are the places of weights.

    `told` gets the report of each preparation.
    """

    _boxed_call = True

    def __init__(
        self,
        module: Any,
        fixed: Sequence[int],
        setting: Setting,
        told: Callable[[Report], None],
    ) -> None:
        self._module = module
        self._setting = setting
        self._told = told
        self._names = [n.name for n in module.graph.nodes if n.op == "placeholder"]
        self._fixed = list(fixed)
        self._open = [at for at in range(len(self._names)) if at not in self._fixed]
        self._written: dict[int, int] = {}
        self._ready: dict[Hashable, _Prepared] = {}

    def __call__(self, args: list[Any]) -> list[Any]:
        values = list(args)
        args.clear()
        frozen, run = self._found(values)
        changed = frozen.changed()
        if changed:
            self._forget(changed)
            _, run = self._found(values)
        return run(values)

    def _found(self, values: Sequence[Any]) -> tuple[Frozen, Execution]:
        """By where the weights lie, and by sizes."""
        place = tuple([values[at].data_ptr() for at in self._fixed])
        sizes = tuple([getattr(values[at], "shape", values[at]) for at in self._open])
        ready = self._ready.get(place)
        if ready is None:
            ready = self._prepared(values)
            _keep(self._ready, place, ready, _MODULES)
        if sizes not in ready.runs:
            _keep(ready.runs, sizes, self._run(ready, values), _SIZES)
        return ready.frozen, ready.runs[sizes]

    def _prepared(self, values: Sequence[Any]) -> _Prepared:
        weights = {self._names[at]: values[at] for at in self._fixed}
        traced = read_traced(self._module, weights)
        frozen = Frozen({at: values[at] for at in self._fixed})
        runs: dict[Hashable, Execution] = {}
        builds = Builds(traced, self._setting, ranges_of(self._module), runs.clear)
        return _Prepared(traced, weights, frozen, builds, runs)

    def _run(self, ready: _Prepared, values: Sequence[Any]) -> Execution:
        sizes = sizes_of(self._module, values)
        built, found = ready.builds.at(sizes)
        made = Execution(ready.traced, ready.weights, sizes, built, found)
        self._told(made.report)
        return made

    def _forget(self, changed: Sequence[int]) -> None:
        """What was prepared with weights that are others now."""
        for at in changed:
            self._written[at] = self._written.get(at, 0) + 1
        often = [at for at in changed if self._written[at] > _WRITES]
        self._fixed = [at for at in self._fixed if at not in often]
        self._open = sorted([*self._open, *often])
        self._ready.clear()


def _keep(found: dict[Hashable, T], key: Hashable, value: T, most: int) -> None:
    """Adds a value, in place of the oldest if there are as many as there may be."""
    if len(found) >= most:
        found.pop(next(iter(found)))
    found[key] = value
