"""Import options, and their checks against the inputs of a program."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spec_model.interval import Interval
from spirloom.builder import DEFAULT_EXTRA
from spirloom.errors import ImportFailure
from spirloom.ir import Array
from spirloom.passes.fp16 import float32_patterns
from spirloom.passes.weight_quantization import Quantization
from spirloom.sizes import Symbol


def check_names(option: str, names: Collection[str], known: Collection[str]) -> None:
    """Raises ImportFailure for unknown names of inputs."""
    for name in names:
        if name not in known:
            raise ImportFailure(f"--{option} {name}: no such input. Inputs are {sorted(known)}.")


def as_input(name: str, array: Array, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Converts the array to the type of the input. Raises ImportFailure for another shape, and for
    values that the type cannot represent."""
    if array.shape != shape:
        raise ImportFailure(
            f"--constant-input {name}: the file has shape {list(array.shape)}; expected "
            f"{list(shape)}."
        )
    if array.dtype.kind not in "biuf":
        raise ImportFailure(
            f"--constant-input {name}: the file has the type {array.dtype}; expected numbers."
        )
    with np.errstate(all="ignore"):
        converted = array.astype(dtype)
    if dtype.kind != "f" and not np.array_equal(converted, array):
        raise ImportFailure(
            f"--constant-input {name}: the file has values that {dtype}, the input's type, cannot "
            "represent."
        )
    return converted


def warn_of_constant(name: str, value: bool | int | float) -> None:
    """Warns that the graph has no input for an argument that is a Python number."""
    warnings.warn(
        f"Input '{name}' is the Python number {value}: the graph contains it as a constant, and "
        "has no such input. Pass a tensor to export an input.",
        stacklevel=2,
    )


@dataclass(frozen=True, slots=True)
class Options:
    """Sizes and bounds of symbols, value bounds of inputs, and precision, by name."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    symbols: Mapping[str, Symbol] = field(default_factory=dict)
    ranges: Mapping[str, Interval] = field(default_factory=dict)
    fp16: bool = False
    keep_float32: Collection[str] = ()  # names of nodes that fp16 leaves in float32
    skip: Collection[str] = ()
    float64_as_float32: bool = False
    assume_int32: bool = False  # results of int64 operators fit in int32
    constants_limit: int = DEFAULT_EXTRA
    fixed: Mapping[str, Array] = field(default_factory=dict)  # values of constant inputs
    strip: bool = False  # omit source lines
    quantize: Quantization | None = None

    @staticmethod
    def of(
        dims: Mapping[str, int | tuple[int, int]],
        ranges: Mapping[str, tuple[int, int]],
        fp16: bool = False,
        strip: bool = False,
        quantize: str = "",
        keep_float32: Collection[str] = (),
        assume_int32: bool = False,
    ) -> Options:
        """From plain values; a dim is a size, or (min, max)."""
        bounds = {name: d for name, d in dims.items() if not isinstance(d, int)}
        for name, (low, high) in bounds.items():
            if not 0 <= low < high:
                raise ImportFailure(
                    f"dims['{name}'] is {(low, high)}; expected (min, max) with 0 <= min < max."
                )
        return Options(
            sizes={name: d for name, d in dims.items() if isinstance(d, int)},
            symbols={name: Symbol(name, *ends) for name, ends in bounds.items()},
            ranges={name: Interval(*ends) for name, ends in ranges.items()},
            fp16=fp16,
            keep_float32=float32_patterns(keep_float32, fp16),
            strip=strip,
            quantize=Quantization.of(quantize) if quantize else None,
            assume_int32=assume_int32,
        )
