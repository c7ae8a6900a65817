"""Options of the commands that read models: sizes, bounds and constant inputs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spec_model.files import open_regular
from spirloom.errors import ImportFailure

if TYPE_CHECKING:
    from spec_model.interval import Interval
    from spirloom.ir import Array
    from spirloom.onnx.inputs import Shapes
    from spirloom.passes.weight_quantization import Quantization
    from spirloom.sizes import Symbol
    from spirloom.torch.options import Options

# The name of a dimension, or a multiple of it.
_MULTIPLE = re.compile(r"(?:([0-9]+)\*)?((?!.*\.\.)[^\W\d].*)")


def add_model_options(parser: argparse._ActionsContainer) -> None:
    """Adds the options for sizes, bounds and constants."""
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="the size of an open dimension; MIN..MAX keeps it symbolic; the name of another one "
        "makes both equal, 32*OTHER makes it a multiple (ONNX). INPUT.AXIS is a dimension without "
        "a name",
    )
    parser.add_argument(
        "--shape", action="append", default=[], metavar="INPUT=N,N,…", help="the shape of an input"
    )
    parser.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="INPUT=LOW..HIGH",
        help="the integer bounds of an input",
    )
    parser.add_argument(
        "--constant-input",
        action="append",
        default=[],
        metavar="INPUT=VALUE|FILE.npy",
        help="replace an input by a constant: a number, a list such as [1,2], or a NumPy file",
    )
    parser.add_argument(
        "--ignore-stated-shapes",
        action="store_true",
        help="do not compare computed shapes with those that the model states (ONNX)",
    )
    parser.add_argument(
        "--float64-as-float32",
        action="store_true",
        help="accept rounding of float64 computation to float32",
    )
    parser.add_argument(
        "--assume-int32",
        action="store_true",
        help="assume that the results of int64 operators fit in int32",
    )
    parser.add_argument(
        "--constants-limit",
        type=int,
        default=1024,
        metavar="MIB",
        help="memory for constants computed at import, in addition to eight times the size of the "
        "model (default: %(default)s)",
    )
    parser.add_argument(
        "--spec-dir",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a directory of additional operator specs, for nodes of the same name",
    )


def check_options(arguments: argparse.Namespace) -> None:
    """Raises ImportFailure for malformed options, before any file is read."""
    if arguments.keep_float32 and not arguments.fp16:
        raise ImportFailure("--keep-float32 requires --fp16.")
    _dims(arguments)
    _ranges(arguments)
    _inputs(arguments)
    symbols_of(arguments)


def archive_options(arguments: argparse.Namespace) -> Options:
    """The options for exported programs."""
    from spirloom.torch.options import Options

    if arguments.shape:
        raise ImportFailure(
            "--shape is for ONNX models. An exported program has the sizes of its export, except "
            "for dynamic dimensions, which --dim sets."
        )
    for name in _ties(arguments):
        raise ImportFailure(
            f"--dim {name}: dimensions that equal or are multiples of others are for ONNX models. "
            "torch.export has them in dynamic_shapes."
        )
    return Options(
        sizes=_dims(arguments),
        symbols={symbol.name: symbol for symbol in symbols_of(arguments)},
        ranges=_ranges(arguments),
        float64_as_float32=arguments.float64_as_float32,
        assume_int32=arguments.assume_int32,
        constants_limit=max(arguments.constants_limit, 0) << 20,
        fixed=arrays_of(arguments.constant_input),
    )


def shapes_of(arguments: argparse.Namespace) -> Shapes:
    """The options for inputs of an ONNX model: sizes, shapes, bounds."""
    from spirloom.onnx.inputs import Shapes

    return Shapes(
        _dims(arguments),
        _inputs(arguments),
        _ranges(arguments),
        arguments.ignore_stated_shapes,
        _ties(arguments),
        arguments.assume_int32,
    )


def quantization_of(arguments: argparse.Namespace) -> Quantization | None:
    """The weight quantization, if any."""
    from spirloom.passes.weight_quantization import Quantization

    if arguments.quantize_skip and arguments.quantize is None:
        raise ImportFailure("--quantize-skip requires --quantize.")
    if arguments.quantize is None:
        return None
    return Quantization.of(arguments.quantize, arguments.quantize_skip)


def _dims(arguments: argparse.Namespace) -> dict[str, int]:
    dims = {
        name: _sizes(text, "--dim")
        for name, text in map(_pair, arguments.dim)
        if ".." not in text and not _MULTIPLE.fullmatch(text)
    }
    for name, sizes in dims.items():
        if len(sizes) != 1:
            raise ImportFailure(f"--dim {name} must be one size, not {len(sizes)}.")
    return {name: sizes[0] for name, sizes in dims.items()}


def _ties(arguments: argparse.Namespace) -> dict[str, tuple[int, str]]:
    """For a dimension that equals or is a multiple of another one, the factor and the other one."""
    ties: dict[str, tuple[int, str]] = {}
    for name, text in map(_pair, arguments.dim):
        if found := _MULTIPLE.fullmatch(text):
            ties[name] = int(found[1] or 1), found[2]
            if ties[name][0] < 1:
                raise ImportFailure(f"--dim {name}={text}: the factor must be at least 1.")
    return ties


def _inputs(arguments: argparse.Namespace) -> dict[str, tuple[int, ...]]:
    return {name: _sizes(text, "--shape") for name, text in map(_pair, arguments.shape)}


def _ranges(arguments: argparse.Namespace) -> dict[str, Interval]:
    return {name: _range(text) for name, text in map(_pair, arguments.range)}


def symbols_of(arguments: argparse.Namespace) -> list[Symbol]:
    """The symbolic dimensions with their bounds."""
    from spirloom.sizes import Symbol

    symbols: dict[str, Symbol] = {}
    for name, text in map(_pair, arguments.dim):
        if ".." not in text:
            continue
        low, _, high = text.partition("..")
        ends = [int(end) for end in (low, high) if end.isdecimal()]
        if len(ends) != 2 or not 0 <= ends[0] < ends[1]:
            raise ImportFailure(f"--dim {name} must be MIN..MAX with 0 <= MIN < MAX, not '{text}'.")
        symbols[name] = Symbol(name, ends[0], ends[1])
    return list(symbols.values())


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise ImportFailure(f"Expected NAME=VALUE, not '{text}'.")
    return name, value


def _range(text: str) -> Interval:
    from spec_model.interval import Interval

    low, dots, high = text.partition("..")
    try:
        found = Interval(int(low), int(high))
    except ValueError:
        found = None
    if found is None or not dots or found.low > found.high:
        raise ImportFailure(f"--range must be two integers, LOW..HIGH, not '{text}'.")
    return found


def arrays_of(texts: Sequence[str]) -> dict[str, Array]:
    """Arrays by name, from options of the form NAME=VALUE or NAME=FILE.npy."""
    import numpy as np

    arrays = {}
    for name, file in map(_pair, texts):
        literal = _literal(file)
        if literal is not None:
            arrays[name] = literal
            continue
        try:
            with open_regular(Path(file)) as stream:
                loaded = np.load(stream, allow_pickle=False)
        except (OSError, ValueError, EOFError, MemoryError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ImportFailure(f"Cannot read {file} as a NumPy array: {reason}.") from error
        if not isinstance(loaded, np.ndarray):
            raise ImportFailure(f"{file} has several arrays. Use a .npy file, which has one.")
        arrays[name] = loaded
    return arrays


def _literal(text: str) -> Array | None:
    """The array of a number or a list of numbers. None for other texts."""
    import json

    import numpy as np

    try:
        made = np.array(json.loads(text))
    except (ValueError, OverflowError, RecursionError):
        return None
    return made if made.dtype.kind in "biuf" else None


def _sizes(text: str, option: str) -> tuple[int, ...]:
    parts = text.replace("x", ",").split(",") if text else []
    if not all(part.strip().isdecimal() for part in parts):
        raise ImportFailure(f"{option} must be non-negative integers, not '{text}'.")
    return tuple(int(part) for part in parts)
