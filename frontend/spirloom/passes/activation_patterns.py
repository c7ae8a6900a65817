"""Recognizes decomposed activations: silu, mish, hardsigmoid, hardswish, gelu, swiglu, softsign."""

from __future__ import annotations

from spirloom.op_library import OpLibrary
from spirloom.passes.patterns import Match, Rewrite, Rewrites

_CLAMPS = ("aten.clamp", "aten.hardtanh")


def _not_negative(_: OpLibrary, found: Match) -> dict[str, object] | None:
    low = found["low"]
    return {} if isinstance(low, float) and low >= 0 else None


# PyTorch exports relu6 as a clamp of relu.
fuse_patterns = Rewrites(
    *(
        Rewrite(f"{op}(aten.relu(x), low, high)", f"{op}(x, low, high)", _not_negative)
        for op in _CLAMPS
    ),
    Rewrite("x * aten.sigmoid(x)", "aten.silu(x)"),
    Rewrite("x * aten.tanh(aten.softplus(x))", "aten.mish(x)"),
    *(Rewrite(f"{op}(x + 3, 0, 6) / 6", "aten.hardsigmoid(x)") for op in _CLAMPS),
    Rewrite("x * aten.hardsigmoid(x)", "aten.hardswish(x)"),
    *(Rewrite(f"x * {op}(x + 3, 0, 6) / 6", "aten.hardswish(x)") for op in _CLAMPS),
)

fuse_gelu = Rewrites(
    Rewrite("0.5 * x * (1 + aten.erf(x / sqrt(2)))", "aten.gelu(x)"),
    Rewrite(
        "0.5 * x * (1 + aten.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))",
        "aten.gelu(x, approximate='tanh')",
    ),
)

# Before layers absorb the silu.
fuse_gated_activations = Rewrites(
    Rewrite("once(aten.silu(a)) * b", "spirloom.swiglu(a, b)"),
    Rewrite("x / once(1 + once(aten.abs(x)))", "spirloom.softsign(x)"),
)
