"""Writes the table of the operators that PyTorch's device computes (operators.inc), from the specs.

An operator is in the table if its name is PyTorch's, and if its results have the dtypes that
PyTorch's have for floating-point tensors. The library registers those whose arguments it can bind
to the schema of the running version of PyTorch.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jinja2

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "frontend")]

from spec_model import Op, load_library  # noqa: E402
from spec_model.spec import Arg, ArgType  # noqa: E402
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES  # noqa: E402
from spec_model.traits import Trait  # noqa: E402

HERE = Path(__file__).resolve().parent
PREFIX = "aten."

# PyTorch's results have int64 where ours have int32; conversions are copies (device_copy.cpp).
EXCLUDED = (Trait.RETURNS_INDICES, Trait.CASTS)

_TYPES = {
    ArgType.TENSOR: "Tensor",
    ArgType.TENSORS: "TensorList",
    ArgType.INT: "Int",
    ArgType.FLOAT: "Float",
    ArgType.NUMBER: "Float",
    ArgType.BOOL: "Bool",
    ArgType.INTS: "Ints",
    ArgType.STR: "String",
}


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a spec, as C++ initializers."""

    name: str
    type: str
    optional: str
    has_default: str
    float: str
    ints: str
    text: str
    default_of: int


@dataclass(frozen=True, slots=True)
class Row:
    """PyTorch's name, and the operator that computes it."""

    aten: str
    op: str
    args: tuple[Argument, ...]


def _number(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


def _argument(arg: Arg, args: tuple[Arg, ...]) -> Argument:
    value = arg.default
    ints: tuple[object, ...] = ()
    if isinstance(value, tuple):
        ints = value
    elif isinstance(value, int) and arg.type in (ArgType.INT, ArgType.BOOL):
        ints = (int(value),)
    return Argument(
        arg.name,
        _TYPES[arg.type],
        str(arg.optional).lower(),
        str(value is not None).lower(),
        _number(value) if isinstance(value, int | float) and not isinstance(value, bool) else "0",
        ", ".join(str(each) for each in ints),
        value if isinstance(value, str) else "",
        next((i for i, other in enumerate(args) if other.name == arg.default_of), -1),
    )


def rows(ops: Iterator[Op]) -> Iterator[Row]:
    """The rows of the operators, one for each name of PyTorch's."""
    for op in ops:
        if any(trait in op.traits for trait in EXCLUDED):
            continue
        if any(arg.name == "dtype" for arg in op.args):
            continue
        args = tuple(_argument(arg, op.args) for arg in op.args)
        for name in (op.name, *op.overloads):
            if name.startswith(PREFIX):
                yield Row(name.removeprefix(PREFIX), op.name, args)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    out = parser.parse_args().out
    library = load_library([BUILTIN_SPECS], [BUILTIN_TEMPLATES])
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    table = sorted(rows(iter(library.ops.values())), key=lambda row: row.aten)
    text = environment.get_template("operators.inc.j2").render(rows=table)
    if not out.exists() or out.read_text(encoding="utf-8") != text:
        out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
