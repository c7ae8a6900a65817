"""Options of the commands that read models: what a model's file leaves open."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.regular_file import open_regular
from spirloom.errors import ImportFailure

if TYPE_CHECKING:
    from spirloom.interval import Interval
    from spirloom.ir import Array
    from spirloom.onnx.inputs import Shapes
    from spirloom.passes.weight_quantization import Quantisation
    from spirloom.sizes import Symbol
    from spirloom.torch.options import Options


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say what a model's file leaves open."""
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="the size of an open dimension; LEAST..GREATEST leaves it to each run",
    )
    parser.add_argument(
        "--shape", action="append", default=[], metavar="INPUT=N,N,…", help="the shape of an input"
    )
    parser.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="INPUT=LOW..HIGH",
        help="the whole numbers between which an input lies",
    )
    parser.add_argument(
        "--fix",
        action="append",
        default=[],
        metavar="INPUT=FILE.npy",
        help="make an input the constant in a NumPy file",
    )
    parser.add_argument(
        "--float64-as-float32",
        action="store_true",
        help="accept that what the model computes in float64 is rounded to float32",
    )
    parser.add_argument(
        "--constants-limit",
        type=int,
        default=1024,
        metavar="MIB",
        help="memory for constants that are computed at import, beyond eight times that of the "
        "model (default: %(default)s)",
    )
    parser.add_argument(
        "--spec-dir",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a folder of operator specs of your own, which nodes of the same name become",
    )


def check_options(arguments: argparse.Namespace) -> None:
    """Refuses what is not written as it should be, before any file is read."""
    _dims(arguments)
    _ranges(arguments)
    _inputs(arguments)
    symbols_of(arguments)


def archive_options(arguments: argparse.Namespace) -> Options:
    """What is said of an archive of torch.export.save."""
    from spirloom.torch.options import Options

    if arguments.shape:
        raise ImportFailure(
            "--shape is for ONNX models; an exported program has the sizes that it was exported "
            "with, but for those that --dim chooses."
        )
    return Options(
        sizes=_dims(arguments),
        symbols={symbol.name: symbol for symbol in symbols_of(arguments)},
        ranges=_ranges(arguments),
        float64_as_float32=arguments.float64_as_float32,
        constants_limit=max(arguments.constants_limit, 0) << 20,
        fixed=fixed_of(arguments.fix),
    )


def shapes_of(arguments: argparse.Namespace) -> Shapes:
    """What is said of inputs of an ONNX model: fixed sizes, shapes, bounds."""
    from spirloom.onnx.inputs import Shapes

    return Shapes(_dims(arguments), _inputs(arguments), _ranges(arguments))


def quantisation_of(arguments: argparse.Namespace) -> Quantisation | None:
    """To what weights are rounded, if they are."""
    from spirloom.passes.weight_quantization import Quantisation

    if arguments.skip and arguments.quantize is None:
        raise ImportFailure("--skip names nodes that --quantize leaves alone; give that as well.")
    if arguments.quantize is None:
        return None
    return Quantisation.of(arguments.quantize, arguments.skip)


def _dims(arguments: argparse.Namespace) -> dict[str, int]:
    dims = {
        name: _sizes(text, "--dim") for name, text in map(_pair, arguments.dim) if ".." not in text
    }
    for name, sizes in dims.items():
        if len(sizes) != 1:
            raise ImportFailure(f"--dim {name} wants one number, not {len(sizes)}.")
    return {name: sizes[0] for name, sizes in dims.items()}


def _inputs(arguments: argparse.Namespace) -> dict[str, tuple[int, ...]]:
    return {name: _sizes(text, "--shape") for name, text in map(_pair, arguments.shape)}


def _ranges(arguments: argparse.Namespace) -> dict[str, Interval]:
    return {name: _range(text) for name, text in map(_pair, arguments.range)}


def symbols_of(arguments: argparse.Namespace) -> list[Symbol]:
    """The dimensions that stay open between bounds."""
    from spirloom.sizes import Symbol

    symbols: dict[str, Symbol] = {}
    for name, text in map(_pair, arguments.dim):
        if ".." not in text:
            continue
        low, _, high = text.partition("..")
        ends = [int(end) for end in (low, high) if end.isdecimal()]
        if len(ends) != 2 or not 1 <= ends[0] < ends[1]:
            raise ImportFailure(
                f"--dim {name} wants bounds from 1 on, LEAST..GREATEST with LEAST below GREATEST, "
                f"not '{text}'."
            )
        symbols[name] = Symbol(name, ends[0], ends[1])
    return list(symbols.values())


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise ImportFailure(f"'{text}' is not of the form NAME=VALUE.")
    return name, value


def _range(text: str) -> Interval:
    from spirloom.interval import Interval

    low, dots, high = text.partition("..")
    try:
        found = Interval(int(low), int(high))
    except ValueError:
        found = None
    if found is None or not dots or found.low > found.high:
        raise ImportFailure(f"--range wants two whole numbers, LOW..HIGH, not '{text}'.")
    return found


def fixed_of(texts: Sequence[str]) -> dict[str, Array]:
    """The arrays that inputs are fixed to."""
    import numpy as np

    fixed = {}
    for name, file in map(_pair, texts):
        try:
            with open_regular(Path(file)) as stream:
                loaded = np.load(stream, allow_pickle=False)
        except (OSError, ValueError, EOFError, MemoryError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ImportFailure(f"Cannot read {file} as a NumPy array: {reason}.") from error
        if not isinstance(loaded, np.ndarray):
            raise ImportFailure(f"{file} holds several arrays; name a .npy file with one.")
        fixed[name] = loaded
    return fixed


def _sizes(text: str, option: str) -> tuple[int, ...]:
    parts = text.replace("x", ",").split(",") if text else []
    if not all(part.strip().isdecimal() for part in parts):
        raise ImportFailure(f"{option} wants numbers that are not negative, not '{text}'.")
    return tuple(int(part) for part in parts)
