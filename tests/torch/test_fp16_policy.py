"""The error of --fp16 next to that of PyTorch's fp16 and of autocast, on networks that plain fp16
computes wrongly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from spirloom.op_library import OpLibrary
from spirloom.torch import export
from spirloom.torch.export import decompose, exported_of, graph_of, program_of
from spirloom.torch.options import Options
from torch.overrides import TorchFunctionMode

from tests.frontend import reference_run
from tests.torch.fp16_networks import CASES, Case, Layer

LIBRARY = OpLibrary()

# The operators that autocast computes in fp16 and in float32 on CUDA: the lists of PyTorch's
# documentation, by function name. On CPU it computes fewer of them in float32.
_FP16 = {
    "linear",
    "matmul",
    "__matmul__",
    "conv1d",
    "bmm",
    "baddbmm",
    "scaled_dot_product_attention",
}
_FLOAT32 = {
    "__pow__", "__rdiv__", "__rpow__", "__rtruediv__", "acos", "asin", "cosh", "cosine_similarity",
    "cumprod", "cumsum", "dist", "erfinv", "exp", "expm1", "group_norm", "kl_div", "layer_norm",
    "log", "log10", "log1p", "log2", "log_softmax", "norm", "normalize", "pow", "prod",
    "reciprocal", "rsqrt", "sinh", "softmax", "softplus", "sum", "tan",
}  # fmt: skip


class Autocast(TorchFunctionMode):  # type: ignore[misc]
    """torch.autocast with the operator lists of CUDA, on the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__
        dtype = torch.float16 if name in _FP16 else torch.float32 if name in _FLOAT32 else None

        def cast(value: Any) -> Any:
            floating = isinstance(value, torch.Tensor) and value.is_floating_point()
            return value.to(dtype) if floating and dtype is not None else value

        with torch._C.DisableTorchFunction():
            return func(*map(cast, args), **{k: cast(v) for k, v in (kwargs or {}).items()})


# Errors are relative to the largest value. Results that are stored in fp16 twice have this error.
_ROUNDING = 2.0**-10
_FACTOR = 1.5
_LIMIT = 1e-2  # where PyTorch's fp16 and autocast are both wrong


def errors(case: Case) -> tuple[float, float, float]:
    """The errors of --fp16, of PyTorch's fp16 and of its autocast, against PyTorch's float32."""
    torch.manual_seed(0)
    module = case.module().eval()
    with torch.no_grad():
        expected = module(*case.inputs).numpy()
        exported = decompose(exported_of(module, case.inputs, None, None), LIBRARY)
        graph = graph_of(program_of(exported), LIBRARY, Options.of({}, case.ranges, True))
        with Autocast():
            cast = module(*case.inputs).float().numpy()
        half = module.half()(*map(_half, case.inputs)).float().numpy()
    named = {t.name: x.numpy() for t, x in zip(graph.inputs, case.inputs, strict=True)}
    named = {t.name: named[t.name].astype(t.dtype.numpy) for t in graph.inputs}
    ours = reference_run.run(graph, named)[graph.outputs[0].name]
    return _error(ours, expected), _error(half, expected), _error(cast, expected)


def _half(value: Any) -> Any:
    return value.half() if value.is_floating_point() else value


def _error(found: Any, expected: Any) -> float:
    difference = np.abs(found.astype(np.float64) - expected).max() / np.abs(expected).max()
    return float(difference) if np.isfinite(difference) else float("inf")


@pytest.mark.parametrize("name", CASES)
def test_no_worse_than_pytorch(name: str) -> None:
    ours, half, autocast = errors(CASES[name])
    print(f"| {name} | {half:.1e} | {autocast:.1e} | {ours:.1e} |")
    assert ours <= min(max(half, _ROUNDING), _LIMIT)
    assert ours <= _FACTOR * max(autocast, _ROUNDING)


def test_keep_float32(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "spirloom"):
        export(Layer(torch.relu), (torch.ones(1, 64),), fp16=True, keep_float32=["linear*", "x*"])
    assert "1: --keep-float32: linear" in caplog.text
    assert "--keep-float32 x*: no node has such a name" in caplog.text
