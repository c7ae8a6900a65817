"""Floats that kernels only store (rows of kind StoredFloat): formats, and conversion in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from spec_model.data_types import DATA_TYPES, Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """The bits of a float: sign, exponent, mantissa. Codes are these bits as an integer."""

    exponent: int
    mantissa: int
    infinity: bool

    @property
    def bias(self) -> int:
        """The exponent of 1."""
        return int(2 ** (self.exponent - 1) - 1)

    @property
    def sign_shift(self) -> int:
        """The bit of the sign."""
        return self.exponent + self.mantissa

    @property
    def sign_mask(self) -> int:
        """The code of -0."""
        return 1 << self.sign_shift

    @property
    def magnitude_mask(self) -> int:
        """All bits but the sign."""
        return self.sign_mask - 1

    @property
    def first_special(self) -> int:
        """The first code above the finite values: infinity, or NaN if there is none."""
        return self.magnitude_mask & -(1 << self.mantissa) if self.infinity else self.magnitude_mask

    @property
    def overflow(self) -> int:
        """The code of larger values: infinity, or the largest finite value if there is none."""
        return self.first_special if self.infinity else self.first_special - 1

    @property
    def nan(self) -> int:
        """The code of NaN that conversions return."""
        return self.magnitude_mask

    @property
    def is_upper_half(self) -> bool:
        """Whether codes are the upper 16 bits of float32 (bfloat16)."""
        return (self.exponent, self.mantissa) == (8, 7)

    @property
    def smallest_normal(self) -> float:
        """The smallest normal value."""
        return float(2.0 ** (1 - self.bias))

    @property
    def denormal_step(self) -> float:
        """The distance of denormals."""
        return float(2.0 ** (1 - self.bias - self.mantissa))


def float_format(dtype: str) -> FloatFormat | None:
    """The format of a dtype of kind StoredFloat; None for other dtypes."""
    row = DATA_TYPES[dtype]
    if row.kind is not Kind.STORED_FLOAT:
        return None
    bias = 2 ** (row.exponent - 1) - 1
    # A maximum with all exponent bits set leaves no code for infinity.
    infinity = row.max < 2.0 ** (2**row.exponent - 1 - bias)
    return FloatFormat(row.exponent, row.mantissa, infinity)


@cache
def _magnitudes(form: FloatFormat) -> NDArray[np.float64]:
    """The finite values that are not negative, by code, and the one that would follow them."""
    import numpy as np

    codes = np.arange(form.first_special + 1)
    exponents = codes >> form.mantissa
    mantissas = codes & ((1 << form.mantissa) - 1)
    leading = np.where(exponents == 0, 0, 1 << form.mantissa)
    scales = np.maximum(exponents, 1) - form.bias - form.mantissa
    return np.asarray(np.ldexp((leading + mantissas).astype(np.float64), scales))


def decoded(stored: NDArray[Any], dtype: str) -> NDArray[np.float32]:
    """The values of an array of the dtype's NumPy type."""
    import numpy as np

    form = float_format(dtype)
    assert form is not None
    codes = stored.view(f"u{stored.dtype.itemsize}")
    if form.is_upper_half:
        return np.asarray(np.left_shift(codes, 16, dtype=np.uint32)).view(np.float32)
    finite = _magnitudes(form)[:-1]
    magnitudes = np.full(form.sign_mask, np.nan, np.float32)
    magnitudes[: len(finite)] = finite
    if form.infinity:
        magnitudes[form.first_special] = np.inf
    return np.asarray(np.concatenate([magnitudes, -magnitudes])[codes], np.float32)


def encoded(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Floats rounded to nearest even, in the dtype's NumPy type. An overflow becomes infinity, or
    the largest finite value if the dtype has none, as PyTorch 2.13 converts."""
    import numpy as np

    form = float_format(dtype)
    assert form is not None
    numpy_type = DATA_TYPES[dtype].numpy()
    if form.is_upper_half and values.dtype == np.float32:
        bits = np.atleast_1d(values).view(np.uint32)
        rounded = np.where(
            np.isnan(bits.view(np.float32)), bits | 1 << 22, bits + 0x7FFF + (bits >> 16 & 1)
        )
        return (rounded >> 16).astype("<u2").view(numpy_type).reshape(values.shape)
    wide = np.asarray(values, np.float64)
    known = _magnitudes(form)
    middles = (known[:-1] + known[1:]) / 2
    magnitude = np.abs(wide)
    below = np.searchsorted(middles, magnitude, side="left")
    above = np.searchsorted(middles, magnitude, side="right")
    codes = np.where(below % 2 == 0, below, above)  # different only in the middle
    codes = np.where(np.isnan(wide), form.nan, np.minimum(codes, form.overflow))
    codes |= np.where(np.signbit(wide), form.sign_mask, 0)
    return np.asarray(codes).astype(f"u{numpy_type.itemsize}").view(numpy_type)
