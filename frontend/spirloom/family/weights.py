"""The weights of a model, as constants of graphs: each made once, however many graphs read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Protocol

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType, Tensor, constant
from spirloom.passes.quantize_weights import Quantisation
from spirloom.weight_numbers import Numbers, Rounded, halved

# What a source has under a name: floats, or a matrix of small whole numbers.
Stored = Array | Numbers
Shape = tuple[int, ...]


class Source(Protocol):
    """Where weights come from. Names are those of Hugging Face."""

    def has(self, name: str) -> bool:
        """Whether there is such a tensor."""

    def read(self, name: str) -> Stored:
        """What it holds. Raises ImportFailure."""

    def called(self, name: str) -> str:
        """What the model's file calls it."""


class Matrix:
    """The weight of layers and tables: floats, which `tensor` is, or rounded numbers of a `kind`,
    with the args of operators that take them. `kind` "": floats."""

    def __init__(self, name: str, stored: Array | Rounded, dtype: DType) -> None:
        self.kind = ""
        if isinstance(stored, np.ndarray):
            self.tensor = constant(name, stored.astype(dtype.numpy, copy=False))
            return
        if isinstance(stored, Numbers) and dtype is DType.F16:
            # The fast kernels for halves read scales that are halves.
            stored = replace(stored, scales=halved(stored.scales))
        self.kind = stored.kind
        self.arguments = stored.arguments(name, dtype)


class Weights:
    """A source's tensors: floats as numbers of one type, matrices rounded where that is asked."""

    def __init__(self, source: Source, dtype: DType, quantize: Quantisation | None = None) -> None:
        if quantize is not None:
            quantize.check(dtype is DType.F16)
        self.dtype = dtype
        self._source = source
        self._quantize = quantize
        self._made: dict[str, Tensor] = {}
        self._matrices: dict[tuple[tuple[str, ...], bool], list[tuple[int, Matrix]]] = {}

    def has(self, name: str) -> bool:
        """Whether the source has such a tensor."""
        return self._source.has(name)

    def made(self, name: str, dtype: DType, make: Callable[[], Array]) -> Tensor:
        """A constant that is computed when it is asked for first."""
        if name not in self._made:
            self._made[name] = constant(name, make().astype(dtype.numpy, copy=False))
        return self._made[name]

    def vectors(self, sizes: Mapping[str, int]) -> Tensor:
        """Floats of tensors of these sizes, one after the other."""

        def joined() -> Array:
            parts = [self._floats(name, (size,)) for name, size in sizes.items()]
            return np.concatenate(parts)

        return self.made(" + ".join(sizes), self.dtype, joined)

    def matrices(self, node: str, rows: Mapping[str, int], depth: int) -> list[tuple[int, Matrix]]:
        """The weights of a node: matrices of so many rows. Neighbours that are numbers of one kind
        are joined, the rows one after the other; each comes with how many it was joined from."""
        rounds = self._quantize is not None and not self._quantize.skips(node)
        key = tuple(rows), rounds
        if key not in self._matrices:
            read = {name: self._read(name, (count, depth)) for name, count in rows.items()}
            runs = [list(run) for _, run in groupby(read, lambda name: _kind(read[name]))]
            self._matrices[key] = [
                (len(run), self._matrix(" + ".join(run), [read[name] for name in run], rounds))
                for run in runs
            ]
        return self._matrices[key]

    def _matrix(self, name: str, parts: list[Stored], rounds: bool) -> Matrix:
        stored = _joined(parts)
        how = self._quantize
        if not rounds or how is None or isinstance(stored, Numbers) or not how.fits(stored.shape):
            return Matrix(name, stored, self.dtype)
        return Matrix(name, how.rounded(stored), self.dtype)

    def _floats(self, name: str, shape: Shape) -> Array:
        stored = self._read(name, shape)
        return stored.floats() if isinstance(stored, Numbers) else stored

    def _read(self, name: str, shape: Shape) -> Stored:
        if not self._source.has(name):
            raise ImportFailure(f"The model has no tensor {self._source.called(name)!r}.")
        stored = self._source.read(name)
        found = stored.values.shape if isinstance(stored, Numbers) else stored.shape
        if found != shape:
            raise ImportFailure(
                f"Tensor {self._source.called(name)!r} is {list(found)}, and {list(shape)} by the "
                "sizes that the model tells."
            )
        return stored


def _kind(stored: Stored) -> tuple[int, int, bool, bool]:
    """What is the same for matrices that one operator can take together."""
    if not isinstance(stored, Numbers):
        return 0, 0, False, False
    return stored.bits, stored.group, stored.zeros is not None, stored.offsets is not None


def _joined(parts: list[Stored]) -> Stored:
    """Parts of one kind."""
    if len(parts) == 1:
        return parts[0]
    numbers = [part for part in parts if isinstance(part, Numbers)]
    if len(numbers) != len(parts):
        return np.concatenate([part for part in parts if not isinstance(part, Numbers)])
    zeros = [part.zeros for part in numbers if part.zeros is not None]
    offsets = [part.offsets for part in numbers if part.offsets is not None]
    return Numbers(
        np.concatenate([part.values for part in numbers]),
        np.concatenate([part.scales for part in numbers]),
        np.concatenate(zeros) if zeros else None,
        np.concatenate(offsets) if offsets else None,
    )
