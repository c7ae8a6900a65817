"""Calls of a program under construction, and the kernels of ExecuTorch that they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from codegen.flatbuffer import MalformedBuffer
from spirloom.ir import Array
from spirloom.torch.program import Argument, Call, Given, Input, Kind, Meta, Ref, Result


@dataclass(frozen=True, slots=True)
class Kernel:
    """An operator of PyTorch, and the names of the arguments that a call gives it."""

    target: str
    names: tuple[str, ...]
    keywords: int  # how many of them are by keyword alone; they stand last


@cache
def kernels() -> Mapping[str, Kernel]:
    """By name and overload, e.g. aten::add.out."""
    text = (Path(__file__).parent / "kernels.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {name: _kernel(target, names) for name, target, *names in lines}


@cache
def by_target() -> Mapping[str, Kernel]:
    """By the operator of PyTorch, e.g. aten.add.Tensor."""
    return {kernel.target: kernel for kernel in kernels().values()}


def _kernel(target: str, names: list[str]) -> Kernel:
    keywords = sum(name.startswith("*") for name in names)
    return Kernel(target, tuple(name.lstrip("*") for name in names), keywords)


def without_copy(target: str) -> str:
    """The operator that shares memory where this one copies: aten.view_copy → aten.view."""
    space, dot, rest = target.partition(".")
    name, more, overload = rest.partition(".")
    return f"{space}{dot}{name.removesuffix('_copy')}{more}{overload}"


MAX_CALLS = 1 << 18


@dataclass(frozen=True, slots=True)
class DelegateCall(Call):
    """A call within a delegate: the names of its operator may be ExecuTorch's own."""


@dataclass(frozen=True, slots=True)
class RefusedCall(Call):
    """What cannot be imported whatever its operands are; `reason` says why."""

    reason: str = ""


@dataclass(slots=True)
class Draft:
    """What a program consists of so far."""

    inputs: list[Input] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    metas: dict[str, Meta] = field(default_factory=dict)
    weights: dict[str, Array] = field(default_factory=dict)
    updates: dict[str, Ref] = field(default_factory=dict)  # of states, what they are in the end

    def add_weight(self, name: str, array: Array, dtype: str) -> None:
        """A constant of the program, under a name of its own."""
        self.weights[name] = array
        self.metas[name] = Meta(dtype, array.shape, ())
        self.inputs.append(Input(name, Kind.WEIGHT, name))

    def add_state(self, name: str, array: Array, dtype: str) -> None:
        """A buffer that runs change, as the first one finds it."""
        self.add_weight(name, array, dtype)
        self.updates[name] = Ref(name)

    def add(self, call: type[Call], target: str, args: Sequence[Argument],
            results: Sequence[Result], module: str, **more: str) -> None:  # fmt: skip
        """A call; `module` is its name. Files of a few bytes could ask for any number."""
        if len(self.calls) >= MAX_CALLS:
            raise MalformedBuffer(f"it has over {MAX_CALLS} calls")
        self.calls.append(call(target, tuple(args), tuple(results), module, **more))


def arguments(given: Sequence[Given], kernel: Kernel | None) -> list[Argument]:
    """By the names that PyTorch gives them, where these are known."""
    if kernel is None:
        return [Argument(f"argument {i}", value, False) for i, value in enumerate(given)]
    first = len(kernel.names) - kernel.keywords
    named = zip(kernel.names, given, strict=False)
    return [Argument(name, value, i >= first) for i, (name, value) in enumerate(named)]


Metas = Mapping[str, Meta]
