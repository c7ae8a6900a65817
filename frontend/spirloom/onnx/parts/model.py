"""A model in parts, called with arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from spirloom.errors import SpirloomError
from spirloom.onnx.parts.hosts import Compute
from spirloom.onnx.parts.values import ValueInfo
from spirloom.partition import Report
from spirloom.runtime import Model
from spirloom.runtime.arguments import in_order
from spirloom.runtime.arrays import is_torch, to_torch
from spirloom.runtime.errors import Unsupported


class Part(Protocol):
    """Computes some values of others."""

    @property
    def takes(self) -> Sequence[str]:
        """The names of what it reads."""

    @property
    def gives(self) -> Sequence[ValueInfo]:
        """What it makes."""

    def compute(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """What it gives, in order."""


@dataclass(frozen=True, slots=True)
class DevicePart:
    """A part that Spirloom computes."""

    takes: Sequence[str]
    gives: Sequence[ValueInfo]
    model: Model

    def compute(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Runs the graph; what is int64 in the model fits the int32 in its place, or is refused."""
        results = self.model.run(inputs)
        return [info.restored(array) for info, array in zip(self.gives, results, strict=True)]


@dataclass(frozen=True, slots=True)
class HostPart:
    """A part that something else computes; what it gives is checked. `name` is for messages."""

    takes: Sequence[str]
    gives: Sequence[ValueInfo]
    computes: Compute
    name: str

    def compute(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Raises InvalidFile where the results are not as the model states."""
        try:
            results = self.computes(dict(zip(self.takes, inputs, strict=True)))
        except SpirloomError:
            raise
        except Exception as error:  # of whoever computes it
            reason = " ".join(str(error).split())
            raise Unsupported(f"{self.name} failed: {type(error).__name__}: {reason}") from error
        pairs = zip(self.gives, results, strict=True)
        return [info.checked(value, self.name) for info, value in pairs]


class PartedModel:
    """A model of which Spirloom computes what it can; spirloom.onnx.load() makes it.

    `report` says what goes where. Takes one call at a time.
    """

    def __init__(
        self,
        inputs: Sequence[ValueInfo],
        outputs: Sequence[ValueInfo],
        parts: Sequence[Part],
        constants: Mapping[str, Any],
        report: Report,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.report = report
        self._parts = parts
        self._constants = constants
        self._dead = _dead_after(parts, {info.name for info in outputs})

    def __call__(self, *inputs: object, **named: object) -> tuple[Any, ...]:
        """A tuple of the outputs, in the types of the ONNX model, for inputs by position or name.

        Takes what a spirloom.Model takes, and raises what it raises; InvalidFile where a part that
        stays gives something else than the model states.
        """
        values = in_order(self.inputs, inputs, named)
        taken = {i.name: i.taken(v) for i, v in zip(self.inputs, values, strict=True)}
        others = {**self._constants, **taken}
        held = dict(others)
        for part, dead in zip(self._parts, self._dead, strict=True):
            results = part.compute([held[name] for name in part.takes])
            held.update((info.name, r) for info, r in zip(part.gives, results, strict=True))
            for name in dead:
                del held[name]
        results = [_own(held[info.name], others.values()) for info in self.outputs]
        if any(map(is_torch, values)):
            results = [to_torch(r) if isinstance(r, np.ndarray) else r for r in results]
        return tuple(results)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, infos)) for infos in (self.inputs, self.outputs))
        count = f"{len(self._parts)} part{'s' if len(self._parts) != 1 else ''}"
        return f"<spirloom.onnx.PartedModel ({inputs}) -> ({outputs}), {count}>"


def _own(value: Any, others: Iterable[Any]) -> Any:
    """A result that shares no memory with what the caller passed, or with constants."""
    if not isinstance(value, np.ndarray):
        return value
    arrays = [other for other in others if isinstance(other, np.ndarray)]
    return value.copy() if any(np.may_share_memory(value, a) for a in arrays) else value


def _dead_after(parts: Sequence[Part], kept: set[str]) -> list[list[str]]:
    """For each part the values that nothing reads after it."""
    dead: list[list[str]] = []
    for place, part in enumerate(parts):
        later = {name for other in parts[place + 1 :] for name in other.takes} | kept
        names = {*part.takes, *(info.name for info in part.gives)}
        dead.append(sorted(names - later))
    return dead
