"""The draft of a program, and the table of ExecuTorch's kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from spec_model.flatbuffer import MalformedBuffer
from spec_model.interval import Interval
from spirloom.ir import Array
from spirloom.torch.program import Argument, ArgValue, Call, Input, Kind, Ref, Result, TensorMeta


@dataclass(frozen=True, slots=True)
class Kernel:
    """An operator of PyTorch and the names of its arguments."""

    target: str
    names: tuple[str, ...]
    keywords: int  # number of keyword-only arguments, at the end


@cache
def kernels() -> Mapping[str, Kernel]:
    """Kernels by name and overload, e.g. aten::add.out."""
    text = (Path(__file__).parent / "kernels.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {name: _kernel(target, names) for name, target, *names in lines}


@cache
def by_target() -> Mapping[str, Kernel]:
    """Kernels by PyTorch operator, e.g. aten.add.Tensor."""
    return {kernel.target: kernel for kernel in kernels().values()}


def _kernel(target: str, names: list[str]) -> Kernel:
    keywords = sum(name.startswith("*") for name in names)
    return Kernel(target, tuple(name.lstrip("*") for name in names), keywords)


def without_copy(target: str) -> str:
    """The aliasing operator of a copying one: aten.view_copy → aten.view."""
    space, dot, rest = target.partition(".")
    name, more, overload = rest.partition(".")
    return f"{space}{dot}{name.removesuffix('_copy')}{more}{overload}"


MAX_CALLS = 1 << 18


@dataclass(frozen=True, slots=True)
class DelegateCall(Call):
    """A call in a delegate. Its operator may be specific to ExecuTorch."""


@dataclass(frozen=True, slots=True)
class GraphCall(Call):
    """A node of a delegate that is a graph file, by the names of its operator's spec."""


@dataclass(frozen=True, slots=True)
class UnsupportedCall(Call):
    """A call that cannot be imported, for `reason`."""

    reason: str = ""


@dataclass(slots=True)
class ProgramDraft:
    """A program under construction."""

    inputs: list[Input] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    metas: dict[str, TensorMeta] = field(default_factory=dict)
    weights: dict[str, Array] = field(default_factory=dict)
    updates: dict[str, Ref] = field(default_factory=dict)  # state → its value after a run
    ranges: dict[str, Interval] = field(default_factory=dict)  # bounds on which delegates rely

    def add_weight(self, name: str, array: Array, dtype: str) -> None:
        """Adds a constant."""
        self.weights[name] = array
        self.metas[name] = TensorMeta(dtype, array.shape, ())
        self.inputs.append(Input(name, Kind.WEIGHT, name))

    def add_state(self, name: str, array: Array, dtype: str) -> None:
        """Adds a mutable buffer with its initial value."""
        self.add_weight(name, array, dtype)
        self.updates[name] = Ref(name)

    def add(self, call: type[Call], target: str, args: Sequence[Argument],
            results: Sequence[Result], module: str, **more: str) -> None:  # fmt: skip
        """Adds a call named `module`. The limit protects against small files with many calls."""
        if len(self.calls) >= MAX_CALLS:
            raise MalformedBuffer(f"it has more than {MAX_CALLS} calls")
        self.calls.append(call(target, tuple(args), tuple(results), module, **more))


def arguments(args: Sequence[ArgValue], kernel: Kernel | None) -> list[Argument]:
    """Arguments with PyTorch's names; with generated names if the kernel is unknown."""
    if kernel is None:
        return [Argument(f"argument {i}", value, False) for i, value in enumerate(args)]
    first = len(kernel.names) - kernel.keywords
    named = zip(kernel.names, args, strict=False)
    return [Argument(name, value, i >= first) for i, (name, value) in enumerate(named)]
