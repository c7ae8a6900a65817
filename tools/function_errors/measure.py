"""Measures the error of a function in units in the last place (ulp) of its output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import spirloom
import torch
from numpy.typing import NDArray
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.op_library import OpLibrary

from tools.function_errors import arguments
from tools.function_errors.arguments import Floats
from tools.function_errors.functions import Function

Doubles = NDArray[np.float64]
_LIBRARY = OpLibrary()
DTYPES = {"float32": DType.F32, "float16": DType.F16}


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest error of a function in a dtype, and where it occurs."""

    error: float  # in ulp; infinite if NaN differs
    args: tuple[float, ...]
    computed: float
    exact: float

    @property
    def text(self) -> str:
        """The arguments."""
        return ", ".join(f"{x:.9g}" for x in self.args)


@dataclass(frozen=True, slots=True)
class Row:
    """The measurement of a function in a dtype."""

    function: Function
    dtype: str
    worst: Worst

    @property
    def guaranteed(self) -> float:
        return self.function.f32 if self.dtype == "float32" else self.function.f16

    @property
    def holds(self) -> bool:
        return self.worst.error <= self.guaranteed

    def __str__(self) -> str:
        worst = self.worst
        return (
            f"{self.function.name} in {self.dtype}: the error is {worst.error:.4g} ulp at "
            f"{worst.text} ({worst.computed:.9g} instead of {worst.exact:.9g}); at most "
            f"{self.guaranteed:g} are guaranteed."
        )


def measure(runtime: spirloom.Runtime, function: Function, dtype: str) -> Worst:
    """The largest error over the arguments of the sweep."""
    args = (arguments.unary if function.operands == 1 else arguments.binary)(dtype)
    computed = run(runtime, function, args)
    errors = np.full(computed.shape, np.inf)
    # Devices may replace subnormal operands by zeros.
    for operands in (args, tuple(map(_flushed, args))):
        exact = _exact(function, operands)
        # A subnormal factor of an operand may be replaced by zero, too.
        largest = np.maximum.reduce([np.abs(each.astype(np.float64)) for each in operands])
        flushed = np.fmin(np.fmax(largest, 1), 128)
        scale = np.fmax(np.abs(exact), np.fmax(largest, 1)) if function.absolute else exact
        errors = np.minimum(errors, ulps(computed, exact, scale, flushed))
    if function.intermediate is not None:
        intermediate = function.intermediate(*_doubles(args)).numpy()
        errors[(np.abs(intermediate) < np.finfo(computed.dtype).tiny) & (computed == 0)] = 0
    worst = int(np.argmax(errors))
    exact = _exact(function, tuple(each[worst : worst + 1] for each in args))
    at = tuple(float(each[worst]) for each in args)
    return Worst(float(errors[worst]), at, float(computed[worst]), float(exact[0]))


def run(runtime: spirloom.Runtime, function: Function, args: tuple[Floats, ...]) -> Floats:
    """The results of the device."""
    dtype = DTYPES[str(args[0].dtype)]
    inputs = [Tensor(f"x{i}", dtype, x.shape) for i, x in enumerate(args)]
    y = Tensor("y", dtype, args[0].shape)
    names = [arg.name for arg in _LIBRARY.args(function.op)]
    given = dict(zip(names, (*inputs, *function.options), strict=False))
    node = Node(function.op, _LIBRARY.complete(function.op, given), (y,), "y")
    model = runtime.load(graph_file.to_bytes(Graph(inputs, [y], [node])))
    return np.asarray(model(*args)[0])


def ulps(computed: Floats, exact: Doubles, scale: Doubles, flushed: Doubles) -> Doubles:
    """The errors, in ulp of `scale`. Infinity counts as the first value beyond the range; results
    below `flushed` times the smallest normal value may be any such value.
    """
    limits = np.finfo(computed.dtype)
    beyond = 2.0 ** np.ceil(np.log2(float(limits.max)))
    tiny = float(limits.tiny)
    y = np.clip(computed.astype(np.float64), -beyond, beyond)
    expected = np.clip(exact, -beyond, beyond)
    exponent = np.floor(np.log2(np.clip(np.abs(scale), tiny, float(limits.max))))
    errors: Doubles = np.abs(y - expected) / 2.0 ** (exponent - limits.nmant)
    small = tiny * flushed
    errors[(np.abs(y) <= small) & (np.abs(expected) <= small)] = 0
    errors[np.isnan(y) != np.isnan(expected)] = np.inf
    errors[np.isnan(y) & np.isnan(expected)] = 0
    return errors


def _exact(function: Function, args: tuple[Floats, ...]) -> Doubles:
    result: Doubles = function.exact(*_doubles(args)).numpy()
    return result


def _doubles(args: tuple[Floats, ...]) -> Iterator[torch.Tensor]:
    return (torch.from_numpy(each.astype(np.float64)) for each in args)


def _flushed(x: Floats) -> Floats:
    flushed: Floats = np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(0, x), x)
    return flushed.astype(x.dtype)
