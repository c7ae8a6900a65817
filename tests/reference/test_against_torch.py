"""The NumPy references against PyTorch, over every case of every operator that PyTorch has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codegen import load_library
from codegen.op import Op
from codegen.spec import ArgType, TensorCase, TestCase
from codegen.vocabulary import DType

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch).")

from tests.reference.pointwise_forms import FORMS  # noqa: E402  (it needs PyTorch)

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = load_library([ROOT / "op_specs"], [ROOT / "templates" / "glsl"])
TORCH_DTYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "i32": torch.int32,
    "i8": torch.int8,
    "u8": torch.uint8,
    "b8": torch.bool,
}


def activate(y: Any, code: int, low: float, high: float) -> Any:
    """The fused activations in PyTorch's words."""
    functional = torch.nn.functional
    forms: dict[int, Callable[[Any], Any]] = {
        0: lambda v: v,
        1: functional.relu,
        2: lambda v: torch.clamp(v, low, high),
        3: functional.hardswish,
        4: functional.hardsigmoid,
        5: torch.sigmoid,
        6: functional.silu,
        7: torch.tanh,
        8: lambda v: functional.leaky_relu(v, low),
        9: functional.gelu,
    }
    return forms[code](y)


def convolution(*args: Any) -> Any:
    """A 2-D convolution; our last three args are the fused activation's."""
    return activate(torch.nn.functional.conv2d(*args[:7]), *args[7:])


def attention(q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float) -> Any:
    """Attention decomposed; heads that share keys and values are expanded."""
    shared = q.shape[-3] // k.shape[-3]
    k, v = (t.repeat_interleave(shared, -3) for t in (k, v))
    scores = q @ k.transpose(-1, -2) * (scale or q.shape[-1] ** -0.5)
    if mask is not None:
        scores = scores + mask
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -torch.inf)
    return torch.softmax(scores, -1) @ v


# Where PyTorch's operator takes other args than ours.
OWN_FORMS: dict[str, Callable[..., Any]] = {
    **FORMS,
    "aten.add.Tensor": lambda a, b, alpha, *act: activate(a + _like(a, alpha) * b, *act),
    "aten.sub.Tensor": lambda a, b, alpha: a - _like(a, alpha) * b,
    "aten.div.Tensor": lambda a, b: torch.div(a.double(), b.double()),
    "aten._to_copy": lambda x, dtype: x.to(TORCH_DTYPES[dtype]),
    "aten._softmax": torch.softmax,
    "aten._log_softmax": torch.log_softmax,
    "aten.gelu": lambda x, kind: torch.nn.functional.gelu(x, approximate=kind),
    "aten.native_layer_norm": torch.nn.functional.layer_norm,
    "aten._native_batch_norm_legit_no_training": lambda x, w, b, mean, var, eps: (
        torch.nn.functional.batch_norm(x, mean, var, w, b, False, 0.0, eps)
    ),
    "aten.convolution": convolution,
    "aten.linear": lambda x, w, b, *act: activate(torch.nn.functional.linear(x, w, b), *act),
    "aten.prod.dim_int": lambda x, dims, keep: _each(torch.prod, x, dims, keep),
    "aten.squeeze.dims": lambda x, dims: _each(torch.squeeze, x, dims),
    "aten.index_select": lambda x, dim, index: torch.index_select(
        x, dim, torch.where(index < 0, index + x.shape[dim], index)
    ),
    "aten.gather": lambda x, dim, index: torch.gather(
        x, dim, torch.where(index < 0, index + x.shape[dim], index)
    ),
    "aten.scaled_dot_product_attention": attention,
    "aten.sort": lambda x, dim, descending: torch.sort(
        x, dim=dim, descending=descending, stable=True
    ),
    # Of equal elements PyTorch's own topk gives any.
    "aten.topk": lambda x, k, dim, largest: [
        y.narrow(dim, 0, k) for y in torch.sort(x, dim=dim, descending=largest, stable=True)
    ],
    "aten.pad": lambda x, pad, mode: torch.nn.functional.pad(x.double(), pad, mode),
    "aten.index.Tensor": lambda x, i, j, k, dim: x[
        (*[slice(None)] * (dim % x.ndim), *(v for v in (i, j, k) if v is not None))
    ],
    "aten.native_group_norm": torch.nn.functional.group_norm,
    "aten.rms_norm": lambda x, shape, w, eps: (
        x
        * torch.rsqrt((x * x).mean([d - len(shape) for d in range(len(shape))], True) + eps)
        * (1 if w is None else w)
    ),
    "aten.clamp": lambda x, low, high: torch.clamp(x, low, high),
}


def _like(x: Any, number: float) -> float:
    return number if x.is_floating_point() else int(number)


def _each(function: Callable[..., Any], x: Any, dims: list[int], *keep: bool) -> Any:
    """The one-dim operator over several dims, from the last to the first."""
    for dim in sorted((d % x.ndim for d in dims), reverse=True):
        x = function(x, dim, *keep)
    return x


def cases() -> Iterator[Any]:
    for name, op in sorted(LIBRARY.ops.items()):
        if not name.startswith("aten."):
            continue
        dtypes = {variant.dtype for variant in op.variants} & {DType.F32, DType.I32}
        for number, case in enumerate(op.tests):
            for dtype in sorted(dtypes):
                if case.dtypes is None or dtype in case.dtypes:
                    yield pytest.param(op, case, dtype, id=f"{op.short_name}-{number}-{dtype}")


def make(case: TensorCase, dtype: DType) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(7)
    if case.values is not None:
        values = np.array(case.values).reshape(case.shape)
    elif dtype is DType.B8:
        values = random.random(case.shape) < 0.5
    else:
        low, high = case.range or ((-1, 1) if dtype is DType.F32 else (-8, 8))
        values = low + (high - low) * random.random(case.shape)
    kinds = {DType.B8: np.bool_, DType.F32: np.float64}
    return np.asarray(values).astype(kinds.get(dtype, np.int64))


def arguments(op: Op, case: TestCase, dtype: DType) -> Mapping[str, Any]:
    values: dict[str, Any] = {}
    for arg in op.args:
        given = case.args[arg.name]
        if arg.type is ArgType.TENSORS:
            values[arg.name] = [make(x, dtype) for x in given]  # type: ignore[union-attr, arg-type]
        elif isinstance(given, TensorCase):
            values[arg.name] = make(given, arg.dtype or dtype)
        else:
            values[arg.name] = list(given) if isinstance(given, tuple) else given
    return values


def torch_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return [torch_value(item) for item in value]
    return value


@pytest.mark.parametrize(("op", "case", "dtype"), cases())
def test_reference(op: Op, case: TestCase, dtype: DType) -> None:
    """The reference equals PyTorch's operator in double precision."""
    args = arguments(op, case, dtype)
    with np.errstate(all="ignore"):
        expected = op.reference(args)
    form = OWN_FORMS.get(op.name)
    if form is None:
        namespace, name, *overload = op.name.split(".")
        form = getattr(
            getattr(getattr(torch.ops, namespace), name), overload[0] if overload else "default"
        )
    results = form(*(torch_value(value) for value in args.values()))
    outputs = results if isinstance(results, tuple | list) else (results,)
    assert len(outputs) == len(expected)
    for actual, wanted in zip((y.numpy() for y in outputs), expected, strict=True):
        assert actual.shape == wanted.shape
        np.testing.assert_allclose(
            actual.astype(np.float64), wanted.astype(np.float64), rtol=1e-9, atol=1e-9
        )
