"""What ExecuTorch's kernels compute, by the table of them that lies beside this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path


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
