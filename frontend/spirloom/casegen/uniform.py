"""Finds variants that a kernel without a thought would pass: all cases expect one number."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from codegen import Diagnostic, SpecError
from spirloom.casegen.arrays import Arrays
from spirloom.casegen.run import Run
from spirloom.ir import Array


@dataclass(slots=True)
class _Seen:
    first: Run
    output: str
    value: Array  # of one element


@dataclass(slots=True)
class UniformOutputs:
    """What the cases of an op expect of each variant's outputs."""

    _seen: dict[tuple[str, str], _Seen] = field(default_factory=dict)
    _varied: set[tuple[str, str]] = field(default_factory=set)

    def add(self, run: Run, arrays: Arrays) -> None:
        """Notes what a run expects."""
        for expected in arrays.expected:
            key = (run.variant.id, expected.name)
            if key in self._varied or not expected.data.size:
                continue
            values = expected.data.reshape(-1)
            seen = self._seen.setdefault(key, _Seen(run, expected.name, values[:1]))
            if run.test.uniform or arrays.unfinished or not _all_are(seen.value, values):
                self._varied.add(key)

    def check(self) -> None:
        """Fails at the first case of each variant whose cases all expect one number."""
        found: dict[tuple[object, str], Diagnostic] = {}
        for key, seen in self._seen.items():
            if key not in self._varied:
                position = seen.first.test.position
                found.setdefault((position, seen.output), Diagnostic(position, _message(seen)))
        if found:
            raise SpecError(found.values())


def _all_are(value: Array, values: Array) -> bool:
    equal = values == value
    if value.dtype.kind == "f":
        equal |= np.isnan(values) & np.isnan(value)
    return bool(equal.all())


def _message(seen: _Seen) -> str:
    return (
        f"All cases of {seen.first.variant.id} expect {seen.value[0]} throughout {seen.output}: a "
        "kernel that writes nothing else would pass. Add a case that expects other numbers too, or "
        "say 'uniform: true' in one where there are none."
    )
