"""Model weights as graph constants, created once, in the layouts that the operators accept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple, Protocol, TypeGuard

import numpy as np

from spec_model.stored_float import decoded
from spirloom.deferred import Deferred, concatenated
from spirloom.errors import ImportFailure
from spirloom.family.config import Config
from spirloom.ir import Array, DType, Tensor, constant
from spirloom.passes.weight_quantization import Quantization
from spirloom.quantized_weights import (
    BFloat16Matrix,
    Float8Matrix,
    QuantizedMatrix,
    QuantizedWeight,
    fp16_scales,
    rows_of,
)

# A tensor of a source: floats, or an integer or f8 matrix with scales.
StoredTensor = Array | Deferred | QuantizedMatrix | Float8Matrix
Shape = tuple[int, ...]


class WeightSource(Protocol):
    """Reads the tensors of a model file by Hugging Face's names."""

    def has(self, name: str) -> bool:
        """Whether the tensor exists."""

    def read(self, name: str) -> StoredTensor:
        """The tensor's content. Raises ImportFailure."""

    def name_in_file(self, name: str) -> str:
        """The tensor's name in the model file, for messages."""


class Matrix:
    """The weight of a linear layer or embedding: a float `tensor` (`kind` ""), or a quantized
    matrix of a `kind`, whose operators accept `arguments`."""

    def __init__(self, name: str, stored: Array | Deferred | QuantizedWeight, dtype: DType) -> None:
        self.kind = ""
        if isinstance(stored, np.ndarray | Deferred):
            self.tensor = constant(name, _converted(stored, dtype))
            return
        if isinstance(stored, QuantizedMatrix) and dtype is DType.F16:
            # The fast fp16 kernels require fp16 scales.
            stored = replace(stored, scales=fp16_scales(stored.scales))
        self.kind = stored.kind
        self.arguments = stored.arguments(name, dtype)


class Weights:
    """A source's tensors as constants: floats converted to `dtype`, matrices quantized as
    `quantize` specifies. Each constant is created once."""

    def __init__(
        self, source: WeightSource, dtype: DType, quantize: Quantization | None = None
    ) -> None:
        if quantize is not None:
            quantize.check(dtype is DType.F16)
        self.dtype = dtype
        self._source = source
        self._quantize = quantize
        self._constants: dict[str, Tensor] = {}
        self._matrices: dict[tuple[tuple[str, ...], bool], list[tuple[int, Matrix]]] = {}

    def has(self, name: str) -> bool:
        """Whether the source has the tensor."""
        return self._source.has(name)

    def cached_constant(self, name: str, dtype: DType, make: Callable[[], Array]) -> Tensor:
        """The constant `name`; `make` computes it on the first call."""
        if name not in self._constants:
            self._constants[name] = constant(name, make().astype(dtype.numpy, copy=False))
        return self._constants[name]

    def vectors(self, sizes: Mapping[str, int]) -> Tensor:
        """The concatenation of float vectors, whose sizes are given by name."""

        def concatenated() -> Array:
            parts = [self._floats(name, (size,)) for name, size in sizes.items()]
            return np.concatenate(parts)

        return self.cached_constant(" + ".join(sizes), self.dtype, concatenated)

    def matrices(self, node: str, rows: Mapping[str, int], depth: int) -> list[tuple[int, Matrix]]:
        """The weights of a node, [rows, depth] by name. Consecutive matrices of one quantization
        format are concatenated along the rows; each is returned with its number of parts."""
        quantizes = self._quantize is not None and not self._quantize.skips(node)
        key = tuple(rows), quantizes
        if key not in self._matrices:
            read = {name: self._read(name, (count, depth)) for name, count in rows.items()}
            runs = [list(run) for _, run in groupby(read, lambda name: _kind(read[name]))]
            self._matrices[key] = [
                (len(run), self._matrix(" + ".join(run), [read[name] for name in run], quantizes))
                for run in runs
            ]
        return self._matrices[key]

    def _matrix(self, name: str, parts: list[StoredTensor], quantizes: bool) -> Matrix:
        stored = _concatenated(parts)
        how = self._quantize
        if (
            not quantizes
            or how is None
            or isinstance(stored, QuantizedMatrix | Float8Matrix)
            or not how.fits(stored.shape)
        ):
            if is_bfloat16(stored) and self.dtype is DType.F32:
                return Matrix(name, BFloat16Matrix(stored), self.dtype)
            return Matrix(name, stored, self.dtype)
        return Matrix(name, how.rounded(floats_of(stored)), self.dtype)

    def _floats(self, name: str, shape: Shape) -> Array:
        return floats_of(self._read(name, shape))

    def _read(self, name: str, shape: Shape) -> StoredTensor:
        if not self._source.has(name):
            raise ImportFailure(f"The model has no tensor {self._source.name_in_file(name)!r}.")
        stored = self._source.read(name)
        found = stored.shape
        if found != shape:
            raise ImportFailure(
                f"Tensor {self._source.name_in_file(name)!r} has shape {list(found)}; expected "
                f"{list(shape)} by the model's sizes."
            )
        return stored


def _kind(stored: StoredTensor) -> tuple[object, ...]:
    """The quantization format; matrices of one format can be concatenated."""
    if isinstance(stored, Float8Matrix):
        return (stored.values.dtype,)
    if not isinstance(stored, QuantizedMatrix):
        return 16 if is_bfloat16(stored) else 0, 0, False, False
    return stored.bits, stored.group, stored.zeros is not None, stored.offsets is not None


def _concatenated(parts: list[StoredTensor]) -> StoredTensor:
    """Concatenates the rows of parts of one format."""
    if len(parts) == 1:
        return parts[0]
    f8 = [part for part in parts if isinstance(part, Float8Matrix)]
    if f8:
        scales = np.concatenate([part.scales for part in f8])
        return Float8Matrix(concatenated([part.values for part in f8]), scales)
    quantized = [part for part in parts if isinstance(part, QuantizedMatrix)]
    if len(quantized) != len(parts):
        return concatenated([p for p in parts if isinstance(p, np.ndarray | Deferred)])
    zeros = [part.zeros for part in quantized if part.zeros is not None]
    offsets = [part.offsets for part in quantized if part.offsets is not None]
    return QuantizedMatrix(
        concatenated([part.codes for part in quantized]),
        np.concatenate([part.scales for part in quantized]),
        np.concatenate(zeros) if zeros else None,
        np.concatenate(offsets) if offsets else None,
        quantized[0].bits,
    )


def _converted(stored: Array | Deferred, dtype: DType) -> Array | Deferred:
    """Floats of `dtype`. Matrices are converted when they are read."""
    if is_bfloat16(stored):
        stored = _widened(stored)
    if stored.dtype == dtype.numpy:
        return stored
    if isinstance(stored, np.ndarray) and stored.ndim < 2:
        return stored.astype(dtype.numpy)
    deferred = stored if isinstance(stored, Deferred) else Deferred.of(stored)
    return deferred.map(str(dtype), lambda rows: rows.astype(dtype.numpy))


_QKV, _GATE_UP = "self_attn.qkv_proj", "mlp.gate_up_proj"
_PERMUTED = (".q_proj.", ".k_proj.", ".q_norm.", ".k_norm.")


class _FusedPart(NamedTuple):
    """Rows `first` to `first + rows` of the fused matrix `fused`, which has `fused_rows` rows."""

    fused: str
    first: int
    rows: int
    fused_rows: int


class RearrangedSource:
    """Adapts the tensors of a source to the layout of the operators.

    Splits fused matrices (QKV, gate and up), adds the model's offset to norm weights, and permutes
    the rows of Q and K heads: the two columns of a RoPE pair come half a head apart, and each half
    has its rotated columns before half of the others.
    """

    def __init__(self, source: WeightSource, config: Config) -> None:
        self._source = source
        self._offset = config.norm_offset
        self._column_order = _column_order(config)
        self._fused_parts = _fused_parts(config)
        self._last: tuple[str, StoredTensor] | None = None

    def has(self, name: str) -> bool:
        """Whether the tensor exists, also as part of a fused one."""
        return self._source.has(self._stored_name(name)[0])

    def name_in_file(self, name: str) -> str:
        """The name in the file of the tensor, or of the fused tensor that contains it."""
        return self._source.name_in_file(self._stored_name(name)[0])

    def read(self, name: str) -> StoredTensor:
        """The tensor in the operators' layout. Raises ImportFailure."""
        stored_name, part = self._stored_name(name)
        if self._last is None or self._last[0] != stored_name:
            self._last = stored_name, self._source.read(stored_name)
        stored = self._last[1]
        if part is not None:
            stored = _part_of(stored, part, self.name_in_file(name))
        if self._column_order is not None and any(part in name for part in _PERMUTED):
            stored = _reordered(stored, self._column_order, self.name_in_file(name))
        if self._offset and name.endswith("norm.weight"):
            stored = floats_of(stored).astype(np.float32) + np.float32(self._offset)
        return stored

    def _stored_name(self, name: str) -> tuple[str, _FusedPart | None]:
        """The name of the source's tensor, and its part if that tensor is fused."""
        for own, part in self._fused_parts.items():
            fused = name.replace(own, part.fused)
            if fused != name and not self._source.has(name) and self._source.has(fused):
                return fused, part
        return name, None


def _fused_parts(config: Config) -> dict[str, _FusedPart]:
    """The parts of fused matrices, by the names of the separate ones."""
    columns = config.head_size
    inner = config.intermediate_size
    fused_matrices = {
        _QKV: {
            "self_attn.q_proj": config.num_heads * columns,
            "self_attn.k_proj": config.kv_heads * columns,
            "self_attn.v_proj": config.kv_heads * columns,
        },
        _GATE_UP: {"mlp.gate_proj": inner, "mlp.up_proj": inner},
    }
    found = {}
    for fused, rows in fused_matrices.items():
        first = 0
        for name, count in rows.items():
            found[name] = _FusedPart(fused, first, count, sum(rows.values()))
            first += count
    return found


def _column_order(config: Config) -> Array | None:
    """The permutation of a head's columns; None: the identity."""
    pairs, half = config.rotated_pairs, config.head_size // 2
    if pairs == 0 or (pairs == half and not config.interleaved_rope):
        return None
    columns = np.arange(2 * half)
    rotated, rest = columns[: 2 * pairs], columns[2 * pairs :]
    by_pair = rotated.reshape(-1, 2).T if config.interleaved_rope else rotated.reshape(2, -1)
    first_rest, second_rest = np.split(rest, 2)
    order: Array = np.concatenate([by_pair[0], first_rest, by_pair[1], second_rest])
    return order


def _part_of(stored: StoredTensor, part: _FusedPart, name_in_file: str) -> StoredTensor:
    rows = stored.shape[0]
    if rows != part.fused_rows:
        raise ImportFailure(
            f"Tensor {name_in_file!r} has {rows} rows; expected {part.fused_rows} by the model's "
            "sizes."
        )
    return _rows(stored, slice(part.first, part.first + part.rows))


def _reordered(stored: StoredTensor, order: Array, name_in_file: str) -> StoredTensor:
    rows = stored.shape[0]
    if rows % len(order):
        raise ImportFailure(
            f"Tensor {name_in_file!r} has {rows} rows, which is not a multiple of the head size, "
            f"{len(order)}."
        )
    firsts = np.arange(0, rows, len(order))
    return _rows(stored, (firsts[:, None] + order).reshape(-1))


def _rows(stored: StoredTensor, index: slice | Array) -> StoredTensor:
    if isinstance(stored, np.ndarray | Deferred):
        return rows_of(stored, index)
    return stored.rows(index)


def floats_of(stored: StoredTensor) -> Array:
    """The floats of a stored tensor, dequantized."""
    if isinstance(stored, QuantizedMatrix | Float8Matrix):
        return stored.floats()
    array = stored.array() if isinstance(stored, Deferred) else stored
    return decoded(array, DType.BF16) if array.dtype == DType.BF16.numpy else array


def is_bfloat16(stored: StoredTensor) -> TypeGuard[Array | Deferred]:
    """Whether a stored tensor is a bfloat16 one."""
    return isinstance(stored, np.ndarray | Deferred) and stored.dtype == DType.BF16.numpy


def _widened(stored: Array | Deferred) -> Array | Deferred:
    """A bfloat16 tensor in float32. Matrices are converted when they are read."""
    if isinstance(stored, Deferred):
        return stored.map("float32", lambda rows: decoded(rows, DType.BF16))
    return decoded(stored, DType.BF16)
