"""Import options, and inputs that they name or make constant (--constant-input)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spirloom.builder import DEFAULT_EXTRA
from spirloom.errors import ImportFailure
from spirloom.interval import Interval
from spirloom.ir import Array
from spirloom.passes.weight_quantization import Quantisation
from spirloom.sizes import Symbol


def check_names(option: str, names: Collection[str], known: Collection[str]) -> None:
    """Raises ImportFailure for one that is no input."""
    for name in names:
        if name not in known:
            raise ImportFailure(f"--{option} {name}: there is no such input, only {sorted(known)}.")


def as_input(name: str, array: Array, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """The array in the type of the input; ImportFailure if it is not of its shape and numbers."""
    if array.shape != shape:
        raise ImportFailure(
            f"--fix {name}: the file has shape {list(array.shape)}, and the input {list(shape)}."
        )
    if array.dtype.kind not in "biuf":
        raise ImportFailure(f"--fix {name}: the file has {array.dtype}, which are no numbers.")
    with np.errstate(all="ignore"):
        made = array.astype(dtype)
    if dtype.kind != "f" and not np.array_equal(made, array):
        raise ImportFailure(f"--fix {name}: the input is of {dtype}, which the file's are not.")
    return made


@dataclass(frozen=True, slots=True)
class Options:
    """Sizes and bounds of symbols by name, bounds of inputs' numbers, and how to compute."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    symbols: Mapping[str, Symbol] = field(default_factory=dict)
    ranges: Mapping[str, Interval] = field(default_factory=dict)
    fp16: bool = False
    skip: Collection[str] = ()
    float64_as_float32: bool = False
    constants_limit: int = DEFAULT_EXTRA
    fixed: Mapping[str, Array] = field(default_factory=dict)  # inputs that are constants
    strip: bool = False  # no lines of the model's code in the graph
    quantize: Quantisation | None = None

    @staticmethod
    def of(
        dims: Mapping[str, int | tuple[int, int]],
        ranges: Mapping[str, tuple[int, int]],
        fp16: bool = False,
        strip: bool = False,
        quantize: str = "",
    ) -> Options:
        """From plain values: a size, or the least and the greatest."""
        bounds = {name: d for name, d in dims.items() if not isinstance(d, int)}
        for name, (least, greatest) in bounds.items():
            if not 1 <= least < greatest:
                raise ImportFailure(
                    f"dims['{name}'] wants (least, greatest) from 1 on, not {(least, greatest)}."
                )
        return Options(
            sizes={name: d for name, d in dims.items() if isinstance(d, int)},
            symbols={name: Symbol(name, *ends) for name, ends in bounds.items()},
            ranges={name: Interval(*ends) for name, ends in ranges.items()},
            fp16=fp16,
            strip=strip,
            quantize=Quantisation.of(quantize) if quantize else None,
        )
