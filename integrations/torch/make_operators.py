"""Writes the table of the operators that PyTorch's device computes (operators.inc), from the specs.

An operator is in the table if its name is PyTorch's. The library registers those whose arguments it
can bind to the schema of the running version of PyTorch. A row has the dtypes for which the spec
computes what PyTorch does; all rows have the floating-point ones.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import jinja2

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "frontend")]

from spec_model import Op, load_library  # noqa: E402
from spec_model.spec import Arg, ArgType  # noqa: E402
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES  # noqa: E402
from spec_model.traits import Trait  # noqa: E402
from spec_model.vocabulary import DType  # noqa: E402

HERE = Path(__file__).resolve().parent
PREFIX = "aten."

INT64 = "spirloom.int64_"  # operators on int64 values, by the short name of that on floats

# Composite operators of PyTorch that one kernel computes where no gradient is required: their
# names, the operator, and arguments that PyTorch names differently.
FUSED: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "batch_norm": ("aten._native_batch_norm_legit_no_training", {}),
    "group_norm": ("aten.native_group_norm", {"group": "num_groups"}),
    "layer_norm": ("aten.native_layer_norm", {}),
    "max_pool1d": ("aten.max_pool1d", {}),
    "max_pool2d": ("aten.max_pool2d", {}),
    "max_pool3d": ("aten.max_pool3d", {}),
    "rms_norm": ("aten.rms_norm", {}),
    "scaled_dot_product_attention": ("aten.scaled_dot_product_attention", {}),
}

# Further names of PyTorch's for an operator: without some of its arguments, or for real numbers.
ALIASES = {
    "clamp_min": "aten.clamp",
    "clamp_max": "aten.clamp",
    "clamp_min.Tensor": "aten.maximum",
    "clamp_max.Tensor": "aten.minimum",
    "sgn": "aten.sign",
}

# Operators that move elements of any dtype. `PAIRS`: also of int64, as pairs of int32 in a further
# dimension; `INDEXED`: their indices have the rank of the moved tensor.
PAIRS = frozenset({
    "aten.cat", "aten.where.self", "aten.index_select", "aten.embedding", "aten.flip", "aten.roll",
    "aten.index_copy", "aten.select_scatter", "aten.gather", "aten.scatter.src", "aten.repeat",
})  # fmt: skip
INDEXED = frozenset({"aten.gather", "aten.scatter.src"})
MOVED = PAIRS | {"aten.tril", "aten.triu", "aten.constant_pad_nd"}
# Operators that compute with bool, and with int32, what PyTorch does.
COMPARISONS = frozenset(f"aten.{name}.Tensor" for name in ("eq", "ne", "lt", "le", "gt", "ge"))
BITWISE = frozenset(f"aten.bitwise_{name}.Tensor" for name in ("and", "or", "xor"))
BOOLS = MOVED | BITWISE | COMPARISONS | {
    "aten.logical_and", "aten.logical_or", "aten.logical_xor", "aten.logical_not",
    "aten.bitwise_not", "aten.masked_fill.Scalar", "aten.any.dim", "aten.any.dims", "aten.any",
    "aten.all", "aten.all.dim", "aten.all.dims", "aten.sum.dim_IntList", "aten.cumsum",
    "aten.count_nonzero", "aten.count_nonzero.dim_IntList",
}  # fmt: skip
INTS = MOVED | BITWISE | COMPARISONS | {
    "aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.maximum", "aten.minimum",
    "aten.neg", "aten.abs", "aten.masked_fill.Scalar", "aten.bitwise_not", "aten.argmax",
    "aten.argmin", "aten.topk", "aten.sort", "aten.max.dim", "aten.min.dim",
}  # fmt: skip
# Operators for which PyTorch converts integers to the default floating-point dtype.
CONVERTED = frozenset({
    "aten.div.Tensor", "aten.reciprocal", "aten.sqrt", "aten.rsqrt", "aten.exp", "aten.log",
    "aten.sin", "aten.cos", "aten.tanh", "aten.sigmoid", "aten.erf", "aten.log1p", "aten.expm1",
})  # fmt: skip

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


# Tensors of a dtype of their own.
_FIXED_TYPES = {DType.I32: "Index", DType.B8: "Mask"}


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
    """PyTorch's name, the operator that computes it, and properties as names of flags in C++."""

    aten: str
    op: str
    flags: str
    results: int
    wide: int  # bits of the results that are int32 for all arguments, and int64 in PyTorch
    args: tuple[Argument, ...]


def _number(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


def _argument(arg: Arg, op: Op, names: Mapping[str, str]) -> Argument:
    value = arg.default
    ints: tuple[object, ...] = ()
    if isinstance(value, tuple):
        ints = value
    elif isinstance(value, int) and arg.type in (ArgType.INT, ArgType.BOOL):
        ints = (int(value),)
    fixed = None
    if isinstance(arg.dtype, DType) and not op.name.startswith(INT64):
        fixed = _FIXED_TYPES.get(arg.dtype)
    return Argument(
        names.get(arg.name, arg.name),
        fixed if fixed and arg.type is ArgType.TENSOR else _TYPES[arg.type],
        str(arg.optional).lower(),
        str(value is not None).lower(),
        _number(value) if isinstance(value, int | float) and not isinstance(value, bool) else "0",
        ", ".join(str(each) for each in ints),
        value if isinstance(value, str) else "",
        next((i for i, other in enumerate(op.args) if other.name == arg.default_of), -1),
    )


def _flags(op: Op, is_fused: bool) -> str:
    """The properties of a row, joined by `|`."""
    properties = {
        "kPromotes": Trait.ELEMENTWISE in op.traits or op.name == "aten.cat",
        "kBools": op.name in BOOLS,
        "kInts": op.name in INTS,
        "kPairs": op.name in PAIRS,
        "kIndexed": op.name in INDEXED,
        "kConverted": op.name in CONVERTED,
        "kTakesInt64": op.name.startswith(INT64),
        "kFused": is_fused,
    }
    return " | ".join(name for name, holds in properties.items() if holds) or "0"


def _row(aten: str, op: Op, names: Mapping[str, str]) -> Row:
    args = tuple(_argument(arg, op, names) for arg in op.args)
    wide = sum(1 << i for i, y in enumerate(op.outputs) if y.fixed_dtype is DType.I32)
    return Row(aten, op.name, _flags(op, aten in FUSED), len(op.outputs), wide, args)


def rows(ops: Mapping[str, Op]) -> Iterator[Row]:
    """The rows of the operators: for each of PyTorch's names one, and one more for int64."""
    for op in ops.values():
        # Conversions are copies (conversions.cpp). Convolutions have several operators here
        # (convolution.cpp).
        if (
            op.name == "aten.convolution"
            or Trait.CASTS in op.traits
            or any(arg.name == "dtype" for arg in op.args)
        ):
            continue
        int64 = ops.get(INT64 + op.short_name)
        for name in (op.name, *op.overloads):
            if name.startswith(PREFIX):
                yield _row(name.removeprefix(PREFIX), op, {})
                if int64 and Trait.ELEMENTWISE in op.traits:
                    yield _row(name.removeprefix(PREFIX), int64, {})
    for name, computed in ALIASES.items():
        yield _row(name, ops[computed], {})
    for name, (computed, names) in FUSED.items():
        if computed != PREFIX + name:
            yield _row(name, ops[computed], names)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    out = parser.parse_args().out
    library = load_library([BUILTIN_SPECS], [BUILTIN_TEMPLATES])
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    table = sorted(rows(library.ops), key=lambda row: (row.aten, row.op))
    text = environment.get_template("operators.inc.j2").render(rows=table)
    if not out.exists() or out.read_text(encoding="utf-8") != text:
        out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
