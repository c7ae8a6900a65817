"""Options of the commands that read models: sizes, bounds and constant inputs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spec_model.files import open_regular
from spirloom.errors import ImportFailure
from spirloom.formats.options import FLAGS, KV_CACHE_DTYPES, ImportOptions, is_multiple

if TYPE_CHECKING:
    from spirloom.ir import Array


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


def add_language_options(parser: argparse._ActionsContainer) -> None:
    """Adds the options of language models."""
    parser.add_argument(
        "--context",
        type=int,
        metavar="TOKENS",
        help="rows of a language model's KV cache (default: the training context)",
    )
    parser.add_argument(
        "--kv-cache",
        choices=KV_CACHE_DTYPES,
        help="dtype of a language model's KV cache (default: that of activations; "
        "accuracy: page 'Use a KV cache' of the documentation)",
    )
    parser.add_argument(
        "--max-prefill",
        type=int,
        metavar="TOKENS",
        help="maximum tokens of one prefill run of a language model (default: 512)",
    )
    parser.add_argument(
        "--fit",
        nargs="?",
        type=_memory_size,
        const=0,
        metavar="SIZE",
        help="choose the largest context of a language model, up to --context, and the prefill "
        "size for SIZE bytes of device memory, e.g. 6G (default: what is free on the device)",
    )
    parser.add_argument(
        "--max-binding",
        type=int,
        metavar="MIB",
        default=128,
        help="maximum size of one weight buffer of a language model; larger matrices are split "
        "(default: 128, which every device supports; most GPUs support 4095)",
    )


def _memory_size(text: str) -> int:
    """Bytes, with an optional binary unit: 512M, 6G."""
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    number = text.rstrip("KMGT")
    shift = units.get(text.removeprefix(number), 0)
    if not number.isdecimal() or int(number) == 0 or len(text) - len(number) > 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 512M or 6G")
    return int(number) << shift


def options_of(arguments: argparse.Namespace) -> ImportOptions:
    """The options of an import. Raises ImportFailure for malformed ones."""
    given = vars(arguments)
    names = {field: flag.replace("-", "_") for field, flag in FLAGS.items()}
    values: dict[str, Any] = {
        each.name: given[name]
        for each in fields(ImportOptions)
        if (name := names.get(each.name, each.name)) in given
    }
    dims = values["dims"] = dict[str, Any]()
    for name, text in map(_pair, arguments.dim):
        if name in dims:
            raise ImportFailure(f"--dim {name} is given twice.")
        dims.update([_dim(name, text)])
    values["shapes"] = {name: _sizes(text, "--shape") for name, text in map(_pair, arguments.shape)}
    values["ranges"] = {name: _range(text) for name, text in map(_pair, arguments.range)}
    values["fixed"] = arrays_of(arguments.constant_input)
    values["constants_limit"] = max(arguments.constants_limit, 0) << 20
    if "no_optimize" in given:
        values["optimize"] = not arguments.no_optimize
    if "max_binding" in given:
        values["max_binding"] = arguments.max_binding << 20
    return ImportOptions(**values)


def _dim(name: str, text: str) -> tuple[str, int | tuple[int, int] | str]:
    """A size, bounds, or another dimension."""
    if ".." in text:
        low, _, high = text.partition("..")
        ends = [int(end) for end in (low, high) if end.isdecimal()]
        if len(ends) != 2 or not 0 <= ends[0] < ends[1]:
            raise ImportFailure(f"--dim {name} must be MIN..MAX with 0 <= MIN < MAX, not '{text}'.")
        return name, (ends[0], ends[1])
    if is_multiple(text):
        return name, text
    sizes = _sizes(text, "--dim")
    if len(sizes) != 1:
        raise ImportFailure(f"--dim {name} must be one size, not {len(sizes)}.")
    return name, sizes[0]


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise ImportFailure(f"Expected NAME=VALUE, not '{text}'.")
    return name, value


def _range(text: str) -> tuple[int, int]:
    low, dots, high = text.partition("..")
    try:
        found = int(low), int(high)
    except ValueError:
        found = None
    if found is None or not dots or found[0] > found[1]:
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
