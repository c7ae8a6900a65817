"""A traced graph at given sizes: planned, built, and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spirloom.partition import Report, Segment, report
from spirloom.runtime import Model
from spirloom.torch.built import Built
from spirloom.torch.parts import host_module
from spirloom.torch.program import Given, Ref
from spirloom.torch.steps import DeviceStep, HostStep, Step, Values
from spirloom.torch.survey import Survey
from spirloom.torch.traced import Traced, layout_of


class Execution:
    """What a call of a traced graph does. `weights` are the values of fixed placeholders.

    `found` is of these sizes, `built` of these or of all.
    """

    def __init__(
        self,
        traced: Traced,
        weights: Mapping[str, Any],
        sizes: Mapping[str, int],
        built: Built,
        found: Survey,
    ) -> None:
        self.report: Report = report(built.network, built.plan)
        self._places: dict[str, int] = {}
        self._constants: Values = []
        self._found = found
        self._lock = built.lock
        self._sizes = sizes
        self._values = {n.name: n.meta.get("val") for n in traced.module.graph.nodes}
        self._traced = traced
        names = [n.name for n in traced.module.graph.nodes if n.op == "placeholder"]
        self._args = [self._place(name) for name in names]
        self._steps = [
            self._host_step(segment) if model is None else self._device_step(segment, model)
            for segment, model in zip(built.plan.segments, built.models, strict=True)
        ]
        self._outputs = [self._output(given) for given in traced.program.outputs]
        for name, tensor in weights.items():
            self._constants[self._place(name)] = tensor

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        """The outputs for values of all placeholders."""
        values = self._constants.copy()
        for at, value in zip(self._args, args, strict=True):
            values[at] = value
        for step in self._steps:
            step(values)
        return [values[at] for at in self._outputs]

    def _place(self, name: str) -> int:
        """Where a value is in a call; what is known is there from the beginning."""
        import torch

        if name not in self._places:
            self._places[name] = len(self._constants)
            known = self._found.known.get(name)
            if isinstance(known, np.ndarray):
                dtype = getattr(torch, self._traced.program.metas[name].dtype)
                known = torch.from_numpy(np.ascontiguousarray(known)).to(dtype)
            self._constants.append(known)
        return self._places[name]

    def _output(self, given: Given) -> int:
        if isinstance(given, Ref):
            return self._place(given.name)
        self._constants.append(given)
        return len(self._constants) - 1

    def _host_step(self, segment: Segment) -> Step:
        module, takes = host_module(self._traced, self._found, segment)
        return HostStep(module, [*map(self._place, takes)], [*map(self._place, segment.gives)])

    def _device_step(self, segment: Segment, model: Model) -> Step:
        takes = [self._place(info.name) for info in model.inputs]
        gives = [self._place(name) for name in segment.gives]
        layouts = [layout_of(self._values[name], self._sizes) for name in segment.gives]
        return DeviceStep(model, takes, gives, layouts, self._host_step(segment), self._lock)
