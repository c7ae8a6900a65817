"""Model weights as graph constants, created once, in the layouts that the operators accept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple, Protocol

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.family.config import Config
from spirloom.ir import Array, DType, Tensor, constant
from spirloom.passes.weight_quantization import Quantisation
from spirloom.quantized_weights import QuantizedMatrix, QuantizedWeight, fp16_scales

# What a source has under a name: floats, or a matrix of small whole numbers.
Stored = Array | QuantizedMatrix
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

    def __init__(self, name: str, stored: Array | QuantizedWeight, dtype: DType) -> None:
        self.kind = ""
        if isinstance(stored, np.ndarray):
            self.tensor = constant(name, stored.astype(dtype.numpy, copy=False))
            return
        if isinstance(stored, QuantizedMatrix) and dtype is DType.F16:
            # The fast kernels for halves read scales that are halves.
            stored = replace(stored, scales=fp16_scales(stored.scales))
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
        if (
            not rounds
            or how is None
            or isinstance(stored, QuantizedMatrix)
            or not how.fits(stored.shape)
        ):
            return Matrix(name, stored, self.dtype)
        return Matrix(name, how.rounded(stored), self.dtype)

    def _floats(self, name: str, shape: Shape) -> Array:
        stored = self._read(name, shape)
        return stored.floats() if isinstance(stored, QuantizedMatrix) else stored

    def _read(self, name: str, shape: Shape) -> Stored:
        if not self._source.has(name):
            raise ImportFailure(f"The model has no tensor {self._source.called(name)!r}.")
        stored = self._source.read(name)
        found = stored.values.shape if isinstance(stored, QuantizedMatrix) else stored.shape
        if found != shape:
            raise ImportFailure(
                f"Tensor {self._source.called(name)!r} is {list(found)}, and {list(shape)} by the "
                "sizes that the model tells."
            )
        return stored


def _kind(stored: Stored) -> tuple[int, int, bool, bool]:
    """What is the same for matrices that one operator can take together."""
    if not isinstance(stored, QuantizedMatrix):
        return 0, 0, False, False
    return stored.bits, stored.group, stored.zeros is not None, stored.offsets is not None


def _joined(parts: list[Stored]) -> Stored:
    """Parts of one kind."""
    if len(parts) == 1:
        return parts[0]
    numbers = [part for part in parts if isinstance(part, QuantizedMatrix)]
    if len(numbers) != len(parts):
        return np.concatenate([part for part in parts if not isinstance(part, QuantizedMatrix)])
    zeros = [part.zeros for part in numbers if part.zeros is not None]
    offsets = [part.offsets for part in numbers if part.offsets is not None]
    return QuantizedMatrix(
        np.concatenate([part.values for part in numbers]),
        np.concatenate([part.scales for part in numbers]),
        np.concatenate(zeros) if zeros else None,
        np.concatenate(offsets) if offsets else None,
    )


_QKV, _GATE_UP = "self_attn.qkv_proj", "mlp.gate_up_proj"
_TRANSPOSED = (".q_proj.", ".k_proj.", ".q_norm.", ".k_norm.")


class _Part(NamedTuple):
    """So many rows of a matrix that holds several, which has `of` rows."""

    whole: str
    first: int
    rows: int
    of: int


class Arranged:
    """A source of weights over another one.

    Matrices that are one in the file are taken apart; norms get the model's offset; and the rows of
    queries' and keys' heads are so ordered that the columns which positions turn together are half
    a head apart, those that are not turned behind those that are, half of them each.
    """

    def __init__(self, source: Source, config: Config) -> None:
        self._source = source
        self._offset = config.norm_offset
        self._order = _order(config)
        self._parts = _parts(config)
        self._last: tuple[str, Stored] | None = None

    def has(self, name: str) -> bool:
        """Whether there is such a tensor, by itself or in another one."""
        return self._source.has(self._holder(name)[0])

    def called(self, name: str) -> str:
        """What the file calls it, or what it is part of."""
        return self._source.called(self._holder(name)[0])

    def read(self, name: str) -> Stored:
        """Its floats or its numbers. Raises ImportFailure."""
        holder, part = self._holder(name)
        if self._last is None or self._last[0] != holder:
            self._last = holder, self._source.read(holder)
        stored = self._last[1]
        if part is not None:
            stored = _taken(stored, part, self.called(name))
        if self._order is not None and any(turned in name for turned in _TRANSPOSED):
            stored = _ordered(stored, self._order, self.called(name))
        if self._offset and name.endswith("norm.weight"):
            stored = _floats(stored).astype(np.float32) + np.float32(self._offset)
        return stored

    def _holder(self, name: str) -> tuple[str, _Part | None]:
        """The name of the tensor that holds one, and which part of that it is."""
        for own, part in self._parts.items():
            whole = name.replace(own, part.whole)
            if whole != name and not self._source.has(name) and self._source.has(whole):
                return whole, part
        return name, None


def _parts(config: Config) -> dict[str, _Part]:
    """By the names of layers, what may be part of another one."""
    columns = config.head_size
    of_layers = {
        _QKV: {
            "self_attn.q_proj": config.heads * columns,
            "self_attn.k_proj": config.cached_heads * columns,
            "self_attn.v_proj": config.cached_heads * columns,
        },
        _GATE_UP: {"mlp.gate_proj": config.inner, "mlp.up_proj": config.inner},
    }
    found = {}
    for whole, rows in of_layers.items():
        first = 0
        for name, count in rows.items():
            found[name] = _Part(whole, first, count, sum(rows.values()))
            first += count
    return found


def _order(config: Config) -> Array | None:
    """Of a head's columns; None: the one that the file has."""
    pairs, half = config.rotated_pairs, config.head_size // 2
    if pairs == 0 or (pairs == half and not config.by_neighbours):
        return None
    columns = np.arange(2 * half)
    turned, rest = columns[: 2 * pairs], columns[2 * pairs :]
    by_pair = turned.reshape(-1, 2).T if config.by_neighbours else turned.reshape(2, -1)
    before, behind = np.split(rest, 2)
    order: Array = np.concatenate([by_pair[0], before, by_pair[1], behind])
    return order


def _taken(stored: Stored, part: _Part, called: str) -> Stored:
    rows = len(stored.values if isinstance(stored, QuantizedMatrix) else stored)
    if rows != part.of:
        raise ImportFailure(
            f"Tensor {called!r} has {rows} rows, and {part.of} by the sizes that the model tells."
        )
    return _rows(stored, slice(part.first, part.first + part.rows))


def _ordered(stored: Stored, order: Array, called: str) -> Stored:
    rows = len(stored.values if isinstance(stored, QuantizedMatrix) else stored)
    if rows % len(order):
        raise ImportFailure(
            f"Tensor {called!r} has {rows} rows, which are no heads of {len(order)}."
        )
    firsts = np.arange(0, rows, len(order))
    return _rows(stored, (firsts[:, None] + order).reshape(-1))


def _rows(stored: Stored, index: slice | Array) -> Stored:
    return stored.rows(index) if isinstance(stored, QuantizedMatrix) else stored[index]


def _floats(stored: Stored) -> Array:
    return stored.floats() if isinstance(stored, QuantizedMatrix) else stored
