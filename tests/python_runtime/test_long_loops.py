"""Calls whose loops exceed the iterations that a driver completes: compared with NumPy.

Mesa's llvmpipe ends the loops of an invocation after 65,535 iterations, without an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import spirloom
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Tensor

Array = npt.NDArray[Any]
Case = tuple[str, Sequence[Any], Sequence[Array]]  # operator, args in schema order, results

N = 100_000
DTYPES = {np.dtype(np.float32): DType.F32, np.dtype(np.int32): DType.I32}


def values(*shape: int, seed: int = 0) -> Array:
    """Random numbers in [0, 1)."""
    return np.random.default_rng(seed).random(shape, np.float32)


def exact(*shape: int, seed: int = 0) -> Array:
    """Random integers whose sums are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def softmax(x: Array) -> Array:
    """Over the last dimension."""
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    result: Array = e / e.sum(-1, keepdims=True)
    return result


def indices(count: int, size: int) -> Array:
    """`count` indices below `size`, the last of them distinct from the others."""
    found = np.random.default_rng(1).integers(0, size - 1, count).astype(np.int32)
    found[-1] = size - 1
    return found


def check(runtime: spirloom.Runtime, case: Case, storage: str = "buffer") -> None:
    """Runs the operator and compares its results."""
    op, args, expected = case
    tensors = [
        Tensor(f"x{i}", DTYPES[arg.dtype], arg.shape) if isinstance(arg, np.ndarray) else arg
        for i, arg in enumerate(args)
    ]
    inputs = [tensor for tensor in tensors if isinstance(tensor, Tensor)]
    outputs = [Tensor(f"y{i}", DTYPES[y.dtype], y.shape) for i, y in enumerate(expected)]
    node = Node(op, tuple(tensors), tuple(outputs), "node")
    graph = graph_file.to_bytes(Graph(inputs, outputs, [node]))
    with runtime.load(graph, storage=storage, max_dispatches=10_000) as model:  # type: ignore[arg-type]
        arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
        results = model(*arrays)
    for y, reference in zip(results, expected, strict=True):
        scale = max(float(np.abs(reference).max()), 1e-30)
        np.testing.assert_allclose(y, reference, rtol=1e-4, atol=1e-5 * scale)


def reductions(rows: int, n: int) -> list[Case]:
    """Over n elements."""
    x = values(rows, n)
    x64 = x.astype(np.float64)
    top = x.argmax(1)
    return [
        ("aten.sum.dim_IntList", (x, (1,), False), [x64.sum(1).astype(np.float32)]),
        ("aten.mean.dim", (x, (1,), False), [x64.mean(1).astype(np.float32)]),
        ("aten.amax", (x, (1,), False), [x.max(1)]),
        ("aten.var.correction", (x, (1,), 1.0, False), [x64.var(1, ddof=1).astype(np.float32)]),
        ("aten.argmax", (x, (1,), False), [top.astype(np.int32)]),
        ("aten.max.dim", (x, 1, False), [x.max(1), top.astype(np.int32)]),
        ("aten._softmax", (x, 1), [softmax(x).astype(np.float32)]),
        ("aten._log_softmax", (x, 1), [np.log(softmax(x)).astype(np.float32)]),
        ("aten.cumsum", (x, 1), [x64.cumsum(1).astype(np.float32)]),
    ]


def normalized(x: Array) -> Array:
    """Over the last dimension, with an epsilon of 1e-5."""
    y = x.astype(np.float64)
    centered = y - y.mean(-1, keepdims=True)
    result: Array = (centered / np.sqrt(y.var(-1, keepdims=True) + 1e-5)).astype(np.float32)
    return result


def further(n: int) -> list[Case]:
    """The other operators, whose loops have about n iterations."""
    x = values(2, n)
    strided = values(1, 3, n, 2)
    narrow = values(n, 3)
    norms = normalized(x)
    images = values(1, 2, 320, 320)
    pooled = images.reshape(1, 2, -1)
    square = pooled.astype(np.float64)
    weight = exact(2, 2, 320, 320, seed=2)
    pattern = exact(1, 2, n)
    filters = exact(2, 2, n, seed=3)
    left, right = exact(2, n), exact(n, 3, seed=4)
    ints = right.astype(np.int32)
    product = left @ right
    target = indices(n, 50)
    added = np.zeros(50, np.float32)
    np.add.at(added, target, pattern[0, 0])
    replaced = np.zeros(50, np.float32)
    replaced[target] = pattern[0, 0]  # the last one wins
    zeros = np.zeros(50, np.float32)
    high = x[0].max()
    maxima = np.maximum.accumulate(x, 1)
    places = np.maximum.accumulate(np.where(x == maxima, np.arange(n), 0), 1).astype(np.int32)
    order = np.argsort(-x, 1, kind="stable")[:, :3]
    p3 = (np.abs(left - left[::-1].copy()).astype(np.float64) ** 3).sum(1) ** (1 / 3)
    distances = np.array([[0, p3[0]], [p3[1], 0]], np.float32)
    f32 = np.float32
    return [
        ("aten.sum.dim_IntList", (narrow, (0,), False), [narrow.sum(0, np.float64).astype(f32)]),
        (
            "aten.sum.dim_IntList",
            (strided, (0, 2), False),
            [strided.sum((0, 2), np.float64).astype(f32)],
        ),
        ("aten.argmin", (narrow, (0,), False), [narrow.argmin(0).astype(np.int32)]),
        ("aten.argmax", (strided, (), False), [np.array(strided.argmax(), np.int32)]),
        ("aten.cummax", (x, 1), [maxima, places]),
        ("aten.topk", (x, 3, 1, True), [np.take_along_axis(x, order, 1), order.astype(np.int32)]),
        ("aten.native_layer_norm", (x, (n,), None, None, 1e-5), [norms]),
        (
            "aten.instance_norm",
            (x[None], None, None, None, None, True, 1e-5, 0, 0.0, 0.0),
            [norms[None]],
        ),
        (
            "aten.rms_norm",
            (x, (n,), None, 0.0),
            [(x / np.sqrt((x.astype(np.float64) ** 2).mean(1, keepdims=True))).astype(f32)],
        ),
        (
            "aten._adaptive_avg_pool2d",
            (images, (1, 1)),
            [square.mean(-1).astype(f32).reshape(1, 2, 1, 1)],
        ),
        (
            "aten.avg_pool2d",
            (images, (320, 319), (1, 1), (0, 0), False, True, 0),
            [
                np.stack([images[..., :319], images[..., 1:]], -1)
                .astype(np.float64)
                .mean((2, 3))
                .astype(f32)[:, :, None]
            ],
        ),
        (
            "aten.max_pool2d",
            (images, (320, 320), (1, 1), (0, 0), (1, 1), False),
            [images.max((2, 3), keepdims=True)],
        ),
        (
            "aten.adaptive_max_pool1d",
            (pooled, (1,)),
            [pooled.max(2, keepdims=True), pooled.argmax(2).astype(np.int32)[..., None]],
        ),
        ("aten.max_pool1d", (x, (n,), (1,), (0,), (1,), False), [x.max(1, keepdims=True)]),
        ("aten.mm", (left, right), [product]),
        ("aten.mm", (left.astype(np.int32), ints), [product.astype(np.int32)]),
        (
            "aten.bmm",
            (left[:, None], np.stack([right, 2 * right])),
            [np.stack([product[:1], 2 * product[1:]])],
        ),
        ("aten.matmul", (left, right[:, 0].copy()), [product[:, 0].copy()]),
        ("aten.addmm", (zeros[:3] + 1, left, right, 2.0, 1.0), [product + 2]),
        (
            "aten.linear",
            (left, right.T.copy(), None, 0, 0.0, 0.0, None, None, None),
            [product],
        ),
        (
            "aten.convolution",
            (images, weight, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1, 0, 0.0, 0.0, None),
            [
                np.einsum("bchw,ochw->bo", images.astype(np.float64), weight).astype(f32)[
                    ..., None, None
                ]
            ],
        ),
        (
            "aten.conv1d",
            (pattern, filters, None, (1,), (0,), (1,), 1),
            [np.einsum("bcw,ocw->bo", pattern, filters)[..., None]],
        ),
        (
            "aten.conv_transpose1d",
            (values(1, n, 1), exact(n, 2, 1), None, (1,), (0,), (0,), 1, (1,)),
            [
                np.einsum(
                    "bcw,cow->bow", values(1, n, 1).astype(np.float64), exact(n, 2, 1)
                ).astype(f32)
            ],
        ),
        ("aten.scatter_add", (zeros, 0, target, pattern[0, 0].copy()), [added]),
        ("aten.index_add", (zeros, 0, target, pattern[0, 0].copy(), 1.0), [added]),
        ("aten.index_copy", (zeros, 0, target, pattern[0, 0].copy()), [replaced]),
        ("aten.cdist", (left, left[::-1].copy(), 3.0), [distances[:, ::-1].copy()]),
        (
            "spirloom.choose_qparams",
            (x[:1].copy(), -128, 127, 1e-7, (), False, False, "i32"),
            [np.array([high / 255], f32), np.array([-128], np.int32)],
        ),
    ]


def name_of(case: Case) -> str:
    """Operator and shape."""
    return f"{case[0]}-{'x'.join(map(str, case[1][0].shape))}"


@pytest.mark.parametrize("case", [*reductions(2, N), *further(N)], ids=name_of)
def test_loops_of_a_hundred_thousand_iterations(runtime: spirloom.Runtime, case: Case) -> None:
    check(runtime, case)


@pytest.mark.parametrize("n", [21_500, 31_900, 65_400])
def test_loops_near_the_limit(runtime: spirloom.Runtime, n: int) -> None:
    for case in [*reductions(2, n), *further(n)]:
        if case[1][0].ndim < 4:  # images have their own size
            check(runtime, case)


def test_loops_of_ten_million_iterations(runtime: spirloom.Runtime) -> None:
    for case in reductions(1, 10_000_000):
        check(runtime, case)


@pytest.mark.parametrize("storage", ["texture3d", "texture2d"])
def test_textures(runtime: spirloom.Runtime, storage: str) -> None:
    x = values(1, 8, 184, 480)
    mean = x.mean((2, 3), dtype=np.float64).astype(np.float32)
    square = values(1, 4, 128, 128)
    deep = values(1, 1024, 1, 5)
    wide = np.moveaxis(softmax(np.moveaxis(deep, 1, -1)), -1, 1).astype(np.float32)
    cases: list[Case] = [
        ("aten.mean.dim", (x, (2, 3), False), [mean]),
        ("aten._adaptive_avg_pool2d", (x, (1, 1)), [mean[..., None, None]]),
        ("aten.amax", (square, (2, 3), True), [square.max((2, 3), keepdims=True)]),
        ("aten.argmax", (square, (), False), [np.array(square.argmax(), np.int32)]),
        ("aten._softmax", (deep, 1), [wide]),
    ]
    for case in cases:
        check(runtime, case, storage)
