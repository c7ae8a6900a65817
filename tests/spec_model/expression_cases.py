"""The names that expressions of the tests use, and their values."""

from __future__ import annotations

import math

from spec_model.expr.types import Kind, Origin, Scope, TensorType, Value, Variable
from spec_model.vocabulary import DType, Storage

TENSOR = TensorType((2, 3, 5, 7), DType.F32, Storage.BUFFER)

VALUES: dict[str, Value] = {
    "n": 5,
    "m": -3,
    "f": 1.5,
    "flag": True,
    "s": "f16",
    "v": (4, 1, 7),
    "x": TENSOR,
    "scalar": TensorType((), DType.I32),
    "gone": TensorType((), DType.F32, present=False),
    "xs": (TensorType((4, 3), DType.F32), TensorType((9, 3), DType.F32)),
}

_KINDS = {
    "n": Kind.INT,
    "m": Kind.INT,
    "f": Kind.FLOAT,
    "flag": Kind.BOOL,
    "s": Kind.STR,
    "v": Kind.INTS,
    "x": Kind.TENSOR,
    "scalar": Kind.TENSOR,
    "gone": Kind.TENSOR,
    "xs": Kind.TENSORS,
}

SCOPE = Scope(
    {
        name: Variable(kind, name, Origin.ARG, 3 if name == "v" else None)
        for name, kind in _KINDS.items()
    },
    storages=True,
)

# Expressions and their values.
GOOD: list[tuple[str, Value]] = [
    ("activations.gelu + rnn_activations.tanh", 10),
    ("n + 2 * m", -1),
    ("n // m", -2),
    ("n % m", -1),
    ("m // 2", -2),
    ("n / 2", 2.5),
    ("f * n - 1", 6.5),
    ("-f", -1.5),
    ("1 / 0.0", math.inf),
    ("float_bits(f)", 0x3FC00000),
    ("float_bits(-f)", 0xBFC00000 - 2**32),
    ("float_bits(f * 1e39)", 0x7F800000),
    ("float_bits(f - inf + inf)", 0x7FC00000),
    ("float_bits(16777217.0 + f)", 0x4B800001),
    ("x.shape[1]", 3),
    ("x.shape[-1]", 7),
    ("x.shape[1:]", (3, 5, 7)),
    ("x.shape[:-2]", (2, 3)),
    ("x.shape[-9:9]", (2, 3, 5, 7)),
    ("x.shape[3:1]", ()),
    ("x.rank", 4),
    ("x.dtype == 'f32'", True),
    ("'f16' == x.dtype", False),
    ("x.dtype == s", False),
    ("len(xs)", 2),
    ("xs[-1].shape", (9, 3)),
    ("[n, 1] + v", (5, 1, 4, 1, 7)),
    ("v == [4, 1, 7]", True),
    ("7 in v and 8 not in v", True),
    ("[d * 2 for d in v]", (8, 2, 14)),
    ("[d for d in v if d > 1]", (4, 7)),
    ("[sum([e + d for e in v]) for d in range(2)]", (12, 15)),
    ("0 < m < n or flag", True),
    ("flag and not (n == 5)", False),
    ("n if flag else m", 5),
    ("1 if flag else 0.5", 1.0),
    ("prod(v)", 28),
    ("sum(v)", 12),
    ("min(v) + max(v)", 8),
    ("min(n, m, 0)", -3),
    ("max(n, f)", 5.0),
    ("abs(m) + abs(-1)", 4),
    ("abs(-f)", 1.5),
    ("ceil_div(n, 2)", 3),
    ("ceil_div(m, 2)", -1),
    ("round_up(n, 4)", 8),
    ("int(2.9) + int(-2.9) + int(flag)", 1),
    ("float(n)", 5.0),
    ("-inf", -math.inf),
    ("range(3)", (0, 1, 2)),
    ("range(-1)", ()),
    ("fill(2, n)", (5, 5)),
    ("numel(x)", 210),
    ("numel(scalar)", 1),
    ("wrap(-1, 4)", 3),
    ("wrap_all([0, -1], 4)", (0, 3)),
    ("broadcast([3, 1], [2, 1, 5])", (2, 3, 5)),
    ("broadcast([0], [1])", (0,)),
    ("strides([2, 3, 5])", (15, 5, 1)),
    ("strides([])", ()),
    ("broadcast_strides([3, 1], [2, 3, 5])", (0, 1, 0)),
    ("pad_left(v, 5, 1)", (1, 1, 4, 1, 7)),
    ("pad_right(v, 5, 0)", (4, 1, 7, 0, 0)),
    ("replace(v, -1, 0)", (4, 1, 0)),
    ("insert(v, 3, 0)", (4, 1, 7, 0)),
    ("insert(v, -1, 0)", (4, 1, 0, 7)),
    ("remove(v, [0, -1])", (1,)),
    ("alike(xs, 0)", True),
    ("alike(xs, 1)", False),
    ("sum_dims(xs, 0, 1)", 4),
    ("sum_dims(xs, 0, len(xs))", 13),
    ("present(gone)", False),
    ("present(x)", True),
    ("nchw([5, 7])", (1, 1, 5, 7)),
    ("gone.shape", ()),
]

# Expressions without a value, and the message; None: any message.
BAD: list[tuple[str, str | None]] = [
    ("9223372036854775807 + n", "9223372036854775807 + 5 overflows int64."),
    ("prod([4294967296, 4294967296, n * 0])", "4294967296 * 4294967296 overflows int64."),
    ("n // (n - 5)", "5 // 0 divides by zero."),
    ("n % (n - 5)", "5 % 0 divides by zero."),
    ("v[n]", "Index (5) is out of range of a list of 3."),
    ("xs[n].rank", "Index (5) is out of range of a list of 2."),
    ("int(f * 1e300)", None),
    ("int(inf * f)", None),
    ("fill(n * 100, 0)", "A list grows beyond 64 elements."),
    ("pad_left(v, n - 3, 0)", "A list of 3 does not fit 2."),
    ("min(v[:n - 5])", "min() of an empty list."),
    ("wrap(n, 4)", "Dim (5) is out of range of rank 4."),
    ("wrap(0, n - 5)", "Dim (0) is out of range of rank 0."),
    ("wrap_all([0, -4 + n * 0], 4)", "Dim (0) is repeated."),
    ("broadcast(v, x.shape)", "Shapes [4, 1, 7] and [2, 3, 5, 7] do not broadcast."),
    ("broadcast_strides(x.shape, v)", "Shape [2, 3, 5, 7] does not broadcast to [4, 1, 7]."),
    ("insert(v, n, 0)", "Index (5) is out of range of a list of 3."),
    ("[1 for d in fill(60, n)] + [n, n, n, n, n]", "A list grows beyond 64 elements."),
]
