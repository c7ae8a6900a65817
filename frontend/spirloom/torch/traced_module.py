"""A graph that torch.compile calls: prepared for the weights and sizes that come."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from spirloom.partition import Report
from spirloom.torch.built import Setting
from spirloom.torch.execution import Execution
from spirloom.torch.frozen import Frozen
from spirloom.torch.traced import read_traced, sizes_of

# So many sets of weights and sizes are kept: modules of one kind share a graph.
_KEPT = 128
# A weight that was written so often since it was uploaded is an input like others.
_WRITES = 2


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
        self._ready: dict[Hashable, tuple[Frozen, Execution]] = {}

    def __call__(self, args: list[Any]) -> list[Any]:
        values = list(args)
        args.clear()
        key = self._key(values)
        frozen, run = self._ready.get(key) or self._prepared(key, values)
        changed = frozen.changed()
        if changed:
            self._forget(changed)
            _, run = self._prepared(self._key(values), values)
        return run(values)

    def _key(self, values: Sequence[Any]) -> Hashable:
        """What differs between executions: where weights lie, and sizes."""
        return (
            *[values[at].data_ptr() for at in self._fixed],
            *[getattr(values[at], "shape", values[at]) for at in self._open],
        )

    def _prepared(self, key: Hashable, values: Sequence[Any]) -> tuple[Frozen, Execution]:
        weights = {self._names[at]: values[at] for at in self._fixed}
        traced = read_traced(self._module, weights)
        sizes = sizes_of(self._module, values)
        made = Execution(traced, weights, sizes, self._setting)
        self._told(made.report)
        if len(self._ready) >= _KEPT:
            self._ready.pop(next(iter(self._ready)))
        self._ready[key] = Frozen({at: values[at] for at in self._fixed}), made
        return self._ready[key]

    def _forget(self, changed: Sequence[int]) -> None:
        """What was prepared with weights that are others now."""
        for at in changed:
            self._written[at] = self._written.get(at, 0) + 1
        often = [at for at in changed if self._written[at] > _WRITES]
        self._fixed = [at for at in self._fixed if at not in often]
        self._open = sorted([*self._open, *often])
        self._ready.clear()
