"""The options of an import, for the command line and Python, and which formats read them.

An option that a format does not read is refused, never ignored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

from spirloom.errors import ImportFailure, check_known

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from spirloom.ir import Storage
    from spirloom.passes.weight_quantization import Quantization
    from spirloom.sizes import Symbol

# Those of spirloom.kv_cache.FORMATS, which would import NumPy.
KV_CACHE_DTYPES = ("f32", "f16", "bf16", "f8_e4m3", "f8_e5m2", "int8", "int4")
# The name of a dimension, or a multiple of it.
_MULTIPLE = re.compile(r"(?:([0-9]+)\*)?((?!.*\.\.)[^\W\d].*)")


class Format(StrEnum):
    """A kind of model, by its name in messages."""

    ONNX = "ONNX models"
    ARCHIVE = "exported programs (.pt2)"
    PROGRAM = "ExecuTorch programs (.pte and .bpte)"
    LANGUAGE_MODEL = "language models (GGUF files and Hugging Face directories)"
    GRAPH_FILE = "graph files (.slg)"


_O, _A, _P, _L, _G = Format
_GRAPHS = (_O, _A, _P)  # whose graphs the passes rewrite


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """The options of an import.

    dims     sizes of open dimensions by name: a size, (min, max), which keeps the dimension
             dynamic, or the name of another one or a multiple of it ("32*height")
    shapes   shapes of inputs
    ranges   integer bounds of inputs, (low, high)
    fixed    values of inputs that become constants
    states   inputs whose next value is an output, IN=OUT: "past_*=present_*"
    method   the method of a program
    fp16     compute in float16, except nodes whose names match a pattern of `keep_float32`
    quantize the format of weights, "int4:32", except of nodes that match `quantize_skip`
    storage  of all tensors: "auto", "buffer", "texture3d" or "texture2d"
    strip    omit the source locations of nodes
    optimize apply the passes, without those named in `skip_passes`
    passes   Python files that register passes
    ignore_stated_shapes, float64_as_float32, assume_int32
             accept obsolete shapes, rounding of float64, and int64 results without proven bounds
    constants_limit
             bytes for constants computed at import, in addition to eight times the model's size
    spec_dirs
             directories of additional operator specs
    context, max_prefill, kv_cache, max_binding
             of a language model: rows of the KV cache, tokens of one prefill run, dtype of the
             cache, bytes of a weight that one kernel binds
    fit      choose `context` and `max_prefill` for this many bytes of device memory; 0: what is
             free
    """

    dims: Mapping[str, int | tuple[int, int] | str] = field(default_factory=dict)
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    fixed: Mapping[str, ArrayLike] = field(default_factory=dict)
    states: Sequence[str] = ()
    method: str | None = None
    fp16: bool = False
    keep_float32: Sequence[str] = ()
    quantize: str | None = None
    quantize_skip: Sequence[str] = ()
    storage: str = "auto"
    strip: bool = False
    optimize: bool = True
    skip_passes: Sequence[str] = ()
    passes: Sequence[str | Path] = ()
    ignore_stated_shapes: bool = False
    float64_as_float32: bool = False
    assume_int32: bool = False
    constants_limit: int = 1 << 30
    spec_dirs: Sequence[str | Path] = ()
    context: int | None = None
    max_prefill: int | None = None
    fit: int | None = None
    kv_cache: str | None = None
    max_binding: int = 128 << 20

    def check(self) -> None:
        """Raises ImportFailure for options that contradict each other, and for invalid values."""
        from spirloom.passes import OPTIMIZATIONS

        self.check_types()
        if self.keep_float32 and not self.fp16:
            raise ImportFailure("--keep-float32 requires --fp16.")
        if self.quantize_skip and self.quantize is None:
            raise ImportFailure("--quantize-skip requires --quantize.")
        self.symbols()
        self.multiples()
        self.tensor_storage()
        self.quantization()
        for name in self.skip_passes:
            if name not in OPTIMIZATIONS:
                known = ", ".join(OPTIMIZATIONS)
                raise ImportFailure(f"--skip-pass {name}: unknown pass. The passes are: {known}.")
        if self.kv_cache is not None and self.kv_cache not in KV_CACHE_DTYPES:
            known = ", ".join(KV_CACHE_DTYPES)
            raise ImportFailure(f"kv_cache is '{self.kv_cache}'; expected one of: {known}.")

    def check_types(self) -> None:
        """Raises ImportFailure for a value of another type, before it is used."""
        for each in fields(self):
            value, default = getattr(self, each.name), each.default
            if value is None and default is None:
                continue
            expected, text = _type_of(each.name, default)
            is_flag = isinstance(value, bool) and expected is int
            if is_flag or not isinstance(value, expected):
                raise ImportFailure(f"{each.name} is {value!r}; expected {text}.")
            self._check_elements(each.name, value)
        for name, ends in self.ranges.items():
            if not _are_ends(ends) or ends[0] > ends[1]:
                raise ImportFailure(
                    f"ranges['{name}'] is {ends!r}; expected (low, high) with low <= high."
                )
        for name, shape in self.shapes.items():
            if not _are_integers(shape) or min(shape, default=0) < 0:
                raise ImportFailure(
                    f"shapes['{name}'] is {shape!r}; expected non-negative integers."
                )
        for name, size in self.dims.items():
            if isinstance(size, SupportsIndex) and (not _is_integer(size) or size < 0):
                raise ImportFailure(f"dims['{name}'] is {size!r}; expected a size.")
        if self.constants_limit < 0:
            raise ImportFailure(f"constants_limit is {self.constants_limit}; expected at least 0.")

    @staticmethod
    def _check_elements(name: str, value: Any) -> None:
        """Raises ImportFailure for an element of a list, or a key, of another type."""
        paths = name in ("passes", "spec_dirs")
        kind: Any = (str, Path) if paths else str
        elements = value if isinstance(value, Mapping | list | tuple) else ()
        for element in elements:
            if not isinstance(element, kind) or (paths and not str(element)):
                text = "texts or paths" if paths else "texts"
                raise ImportFailure(f"{name} contains {element!r}; expected {text}.")

    def sizes(self) -> dict[str, int]:
        """The dimensions of fixed size."""
        return {name: int(n) for name, n in self.dims.items() if isinstance(n, SupportsIndex)}

    def symbols(self) -> list[Symbol]:
        """The dimensions that stay dynamic. Raises ImportFailure for invalid bounds."""
        from spirloom.sizes import Symbol

        found = []
        for name, ends in self.dims.items():
            if isinstance(ends, SupportsIndex | str):
                continue
            if not _are_ends(ends) or not 0 <= ends[0] < ends[1]:
                raise ImportFailure(
                    f"dims['{name}'] is {ends!r}; expected a size, (min, max) with 0 <= min < max, "
                    "or the name of another dimension."
                )
            found.append(Symbol(name, int(ends[0]), int(ends[1])))
        return found

    def multiples(self) -> dict[str, tuple[int, str]]:
        """For a dimension that equals or is a multiple of another one, the factor and the other
        one. Raises ImportFailure for an invalid text."""
        found = {}
        for name, text in self.dims.items():
            if not isinstance(text, str):
                continue
            match = _MULTIPLE.fullmatch(text)
            if match is None:
                raise ImportFailure(f"--dim {name} must be integers or a dimension, not '{text}'.")
            found[name] = int(match[1] or 1), match[2]
            if found[name][0] < 1:
                raise ImportFailure(f"--dim {name}={text}: the factor must be at least 1.")
        return found

    def skipped(self) -> Collection[str]:
        """The passes to omit."""
        from spirloom.passes import OPTIMIZATIONS

        return self.skip_passes if self.optimize else OPTIMIZATIONS

    def tensor_storage(self) -> Storage | None:
        """The storage of all tensors; None: chosen by the runtime. Raises ImportFailure."""
        from spirloom.ir import Storage

        if self.storage != "auto" and self.storage not in list(Storage):
            known = ", ".join(("auto", *Storage))
            raise ImportFailure(f"storage is '{self.storage}'; expected one of: {known}.")
        return None if self.storage == "auto" else Storage(self.storage)

    def quantization(self) -> Quantization | None:
        """The quantization of weights. Raises ImportFailure for an unknown format."""
        from spirloom.passes.weight_quantization import Quantization

        if self.quantize is None:
            return None
        return Quantization.of(self.quantize.lower(), self.quantize_skip)

    def refuse_unread(self, kind: Format) -> None:
        """Raises ImportFailure for an option that differs from its default and that models of this
        kind do not read."""
        for each in fields(self):
            value = getattr(self, each.name)
            formats = READ_BY[each.name]
            scalar = value is None or isinstance(value, int | str)
            if kind in formats or (value == each.default if scalar else not value):
                continue
            remark = _REMARKS.get((each.name, kind), "")
            if kind is Format.GRAPH_FILE:
                remark = " Import the model again from its source."
            raise ImportFailure(
                f"{flag_of(each.name)} is for {_listed(formats)}, not for {kind}.{remark}"
            )


def _type_of(name: str, default: object) -> tuple[Any, str]:
    """The type of a field, and its name in messages."""
    if isinstance(default, bool):
        return bool, "True or False"
    if isinstance(default, int) or name in ("context", "max_prefill", "fit"):
        return int, "an integer"
    if isinstance(default, tuple):
        return (list, tuple), "a list"
    if default is None or isinstance(default, str):
        return str, "a text"
    return Mapping, "a dictionary"


def _are_ends(value: object) -> bool:
    """Whether a value is two integers."""
    return _are_integers(value) and len(cast("Sequence[int]", value)) == 2


def _are_integers(value: object) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_integer, value))


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """NumPy integers, also within containers, as those of Python; others unchanged."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    if isinstance(value, SupportsIndex) and not isinstance(value, int):
        try:
            return _plain(value.tolist()) if hasattr(value, "tolist") else index(value)
        except TypeError:
            return value
    return value


def is_multiple(text: str) -> bool:
    """Whether a text names a dimension, or a multiple of one."""
    return _MULTIPLE.fullmatch(text) is not None


# By field, the formats that read it.
READ_BY: Mapping[str, tuple[Format, ...]] = {
    "dims": _GRAPHS,
    "shapes": (_O,),
    "ranges": _GRAPHS,
    "fixed": _GRAPHS,
    "states": (_O,),
    "method": (_P,),
    "fp16": (*_GRAPHS, _L),
    "keep_float32": _GRAPHS,
    "quantize": (*_GRAPHS, _L),
    "quantize_skip": (*_GRAPHS, _L),
    "storage": _GRAPHS,
    "strip": (_A,),
    "optimize": _GRAPHS,
    "skip_passes": _GRAPHS,
    "passes": _GRAPHS,
    "ignore_stated_shapes": (_O,),
    "float64_as_float32": _GRAPHS,
    "assume_int32": _GRAPHS,
    "constants_limit": _GRAPHS,
    "spec_dirs": tuple(Format),
    "context": (_L,),
    "max_prefill": (_L,),
    "fit": (_L,),
    "kv_cache": (_L, _G),
    "max_binding": (_L,),
}
# The flags of the command that are not named after their field.
FLAGS: Mapping[str, str] = {
    "dims": "dim",
    "fixed": "constant-input",
    "optimize": "no-optimize",
    "ranges": "range",
    "shapes": "shape",
    "skip_passes": "skip-pass",
    "spec_dirs": "spec-dir",
    "states": "state",
}


def flag_of(name: str) -> str:
    """The flag of the command for a field."""
    return f"--{FLAGS.get(name, name.replace('_', '-'))}"


# What to do instead.
_REMARKS: Mapping[tuple[str, Format], str] = {
    ("keep_float32", _L): " Without --fp16, a language model computes in float32.",
    ("dims", _L): " --context sets the size of a language model's KV cache.",
    ("ranges", _L): " The tokens of a language model are bounded by its vocabulary.",
    ("shapes", _L): " --context and --max-prefill set the sizes of a language model.",
    **{
        ("shapes", each): " A program has the sizes of its export, except for dynamic dimensions, "
        "which --dim sets."
        for each in (_A, _P)
    },
    **{("states", each): " Other formats declare their mutable buffers." for each in (_A, _P, _L)},
    **{
        ("kv_cache", each): " The states of other models have the dtypes of their graph."
        for each in _GRAPHS
    },
}


def _listed(formats: tuple[Format, ...]) -> str:
    *first, last = formats
    return f"{', '.join(first)} and {last}" if first else str(last)


def of_keywords(keywords: Mapping[str, Any]) -> ImportOptions:
    """The options of keyword arguments. Raises ImportFailure for an unknown name."""
    known = [each.name for each in fields(ImportOptions)]
    check_known(keywords, known, "Unknown option '{}' of an import.")
    plain = {name: value if name == "fixed" else _plain(value) for name, value in keywords.items()}
    return ImportOptions(**plain)
