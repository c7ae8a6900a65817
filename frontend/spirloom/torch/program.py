"""An exported program, wherever it comes from: an archive, or torch in this process.

Names of values are those of torch.export's nodes. Integers that depend on sizes are `SizeOf`
where the program states them, and the results of calls where it computes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from spirloom.ir import Array
from spirloom.torch.size_of import SizeOf


@dataclass(frozen=True, slots=True)
class Ref:
    """A value by name."""

    name: str


@dataclass(frozen=True, slots=True)
class TypeName:
    """One of torch's element types, e.g. float32."""

    name: str


@dataclass(frozen=True, slots=True)
class Word:
    """A value of no meaning here: a device, a layout, a memory format."""

    text: str


Plain = Ref | TypeName | Word | int | float | bool | str | None
Given = Plain | tuple[Plain, ...]
# What a call gives in one place: a value, a list of values, or nothing that is used.
Result = str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call, under the name that the operator's schema gives it."""

    name: str
    value: Given
    keyword: bool


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operator: `target` is e.g. aten.add.Tensor, aten.relu or operator.mul."""

    target: str
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    module: str = ""  # the path of the module that makes it, e.g. layers.0.attention
    trace: str = ""  # where in the user's source


@dataclass(frozen=True, slots=True)
class Meta:
    """The type of a value, and how it lies in PyTorch's memory, in elements."""

    dtype: str
    shape: tuple[int | SizeOf, ...]
    strides: tuple[int | SizeOf, ...]
    start: int | SizeOf = 0


class Kind(StrEnum):
    """What an input of a program is."""

    USER = "user input"
    WEIGHT = "weight"  # a parameter, a buffer or a constant
    OTHER = "other"  # what no graph can take


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a program. Of a weight, `target` is its name in `Program.weights`."""

    name: str
    kind: Kind
    target: str = ""
    fixed: Given | SizeOf = None  # of a user input that is no tensor, its value


@dataclass(frozen=True, slots=True)
class Range:
    """Between which sizes a symbol lies; None: the program sets no bound."""

    least: int | None
    greatest: int | None


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program.

    `mutated` has what it writes beside its outputs: buffers and inputs; `updates`, of buffers by
    their names in `weights`, what they become. `kept` are buffers that it leaves alone, and other
    programs of the same file change.
    """

    where: str
    inputs: tuple[Input, ...]
    outputs: tuple[Given, ...]
    calls: tuple[Call, ...]
    metas: Mapping[str, Meta]
    symbols: Mapping[str, Range] = field(default_factory=dict)
    weights: Mapping[str, Array] = field(default_factory=dict)
    mutated: tuple[str, ...] = ()
    updates: Mapping[str, Ref] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    version: str = ""

    def symbols_of(self, names: Iterable[str]) -> set[str]:
        """The symbols of the shapes of values."""
        sizes = [size for name in names if name in self.metas for size in self.metas[name].shape]
        return {symbol for s in sizes if isinstance(s, SizeOf) for symbol in s.symbols()}
