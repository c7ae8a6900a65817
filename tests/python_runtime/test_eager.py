"""Device tensors and calls of single operators (spirloom.eager)."""

from __future__ import annotations

import doctest
import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
from numpy.typing import NDArray
from spirloom.eager import Argument
from spirloom.eager.signatures import Kind
from spirloom.runtime import InvalidArgument, NotFound, WrongType

from spec_model import load_library
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/try-an-operator.md"

Array = NDArray[Any]


KINDS: dict[str, Kind] = {
    "TENSOR": "tensor",
    "TENSORS": "tensors",
    "INT": "int",
    "FLOAT": "float",
    "NUMBER": "float",
    "BOOL": "bool",
    "INTS": "ints",
    "STR": "str",
}


def random(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(np.float32)


A, B = random(3, 4), random(3, 4, seed=2)

# What NumPy computes for a call.
CALLS: dict[str, tuple[Callable[[Any], Any], Array]] = {
    "sum of tensors": (lambda ops: ops.add(A, B), A + B),
    "with a scalar argument": (lambda ops: ops.add(A, B, alpha=3), A + 3 * B),
    "a number as a tensor": (lambda ops: ops.maximum(A, 0.5), np.maximum(A, np.float32(0.5))),
    "broadcast": (lambda ops: ops.mul(A, B[0]), A * B[0]),
    "ints": (lambda ops: ops.sum(A, dim=[1], keepdim=True), A.sum(1, keepdims=True)),
    "an int for a list": (lambda ops: ops.sum(A, dim=0), A.sum(0)),
    "a list of tensors": (lambda ops: ops.cat([A, B], dim=-1), np.concatenate([A, B], -1)),
    "an optional tensor": (lambda ops: ops.linear(A, B, A[:, 0]), A @ B.T + A[:, 0]),
    "an absent tensor": (lambda ops: ops.linear(A, B, None), A @ B.T),
    "a view": (lambda ops: ops.permute(A, (1, 0)), A.T),
    "a strided array": (lambda ops: ops.relu(A.T), np.maximum(A.T, 0)),
    "integers": (lambda ops: ops.add(np.arange(4), 3), np.arange(4, dtype=np.int32) + 3),
    "booleans": (lambda ops: ops.logical_not(A > 0), ~(A > 0)),
    "no elements": (lambda ops: ops.relu(A[:0]), A[:0]),
    "a scalar": (lambda ops: ops.exp(2.0), np.exp(np.float32(2))),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_equal_numpy(runtime: spirloom.Runtime, name: str) -> None:
    call, expected = CALLS[name]
    found = call(runtime.ops).numpy()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_several_results_are_a_tuple(runtime: spirloom.Runtime) -> None:
    values, indices = runtime.ops.topk(A, 2)
    order = np.argsort(-A, axis=-1)[:, :2]
    assert indices.numpy().tolist() == order.tolist()
    assert values.numpy().tolist() == np.take_along_axis(A, order, -1).tolist()


def test_signatures_are_those_of_the_specs(runtime: spirloom.Runtime) -> None:
    """From YAML through the shader library, the runtime and the C API."""
    specs = load_library([BUILTIN_SPECS], [BUILTIN_TEMPLATES]).ops
    assert sorted(op.signature.name for op in runtime.ops.values()) == sorted(specs)
    defaults = 0
    for operator in runtime.ops.values():
        signature = operator.signature
        spec = specs[signature.name]
        expected = tuple(
            Argument(
                arg.name,
                KINDS[arg.type.name],
                arg.optional,
                arg.default,  # type: ignore[arg-type]
                arg.default_of,
            )
            for arg in spec.args
        )
        assert signature.arguments == expected, signature.name
        assert signature.results == len(spec.outputs)
        assert signature.short_name == spec.short_name
        defaults += sum(not arg.required for arg in spec.args)
    assert defaults > 300


def test_arithmetic(runtime: spirloom.Runtime) -> None:
    a, b = runtime.tensor(A), runtime.tensor(B)
    pairs: list[tuple[Any, Array]] = [
        (a + b, A + B),
        (1 + a, 1 + A),
        (a - 1, A - 1),
        (1 - a, 1 - A),
        (a * B, A * B),
        (B * a, B * A),
        (a / 4, A / 4),
        (1 / a, 1 / A),
        (a**2, A**2),
        (-a, -A),
        (a @ b.reshape(4, 3), A @ B.reshape(4, 3)),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_tensors(runtime: spirloom.Runtime) -> None:
    x = runtime.tensor(A)
    assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes, len(x)) == ((3, 4), A.dtype, 2, 12, 48, 3)
    assert np.array_equal(np.asarray(x), A)
    assert np.asarray(x, np.float64).dtype == np.float64
    assert repr(runtime.tensor([1.5])) == "tensor([1.5], dtype=float32)"
    assert runtime.tensor(2.5).item() == 2.5
    assert float(runtime.tensor(2.5)) == 2.5
    assert int(runtime.tensor([7])) == 7
    assert bool(runtime.tensor([True]))
    assert np.array_equal(x.reshape(-1, 2).numpy(), A.reshape(-1, 2))
    assert runtime.tensor([1, 2], "float16").numpy().tolist() == [1, 2]
    for sizes in ((5,), (-1, 5), (-1, -1), (-2, -6)):
        with pytest.raises(InvalidArgument, match=r"shape \[3, 4\]"):
            x.reshape(*sizes)


@pytest.mark.parametrize(
    ("value", "dtype", "error", "message"),
    [
        ([2**31], None, InvalidArgument, r"Element 0 \(2147483648\) of 'tensor'"),
        ([0, -1], "uint8", InvalidArgument, r"Element 1 \(-1\)"),
        ([0, 1e5], "float16", InvalidArgument, r"Element 1 \(100000.0\)"),
        ([0.5], "int32", WrongType, "float64; it is not converted to int32"),
        ([1j], None, WrongType, "complex128"),
        (["a"], None, WrongType, "expected a tensor, an array or numbers"),
        ([[1], [2, 3]], None, WrongType, "no array of numbers"),
        (None, None, WrongType, "'tensor' is None"),
        (
            np.zeros((1,) * 9),
            None,
            InvalidArgument,
            "9 dimensions; the maximum is 8",
        ),
        ([1], "float64", WrongType, "those of kernels are: float32, float16"),
    ],
)
def test_values_that_are_no_tensors(
    runtime: spirloom.Runtime, value: object, dtype: str | None, error: type, message: str
) -> None:
    with pytest.raises(error, match=message):
        runtime.tensor(value, dtype)


def test_a_reshape_beyond_the_maximum_rank(runtime: spirloom.Runtime) -> None:
    with pytest.raises(InvalidArgument, match="9 dimensions"):
        runtime.tensor([1.0]).reshape(*[1] * 9)


def test_synchronize(runtime: spirloom.Runtime) -> None:
    x = runtime.tensor(A) + 1
    runtime.synchronize()
    assert np.array_equal(x.numpy(), A + 1)


def test_nan_and_infinity_are_values(runtime: spirloom.Runtime) -> None:
    values = [np.nan, np.inf, -np.inf]
    for dtype in ("float32", "float16"):
        np.testing.assert_array_equal(runtime.tensor(values, dtype).numpy(), values)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda ops: ops.softmax(A), WrongType, r"'dim' is missing; .* softmax\(x: tensor, dim"),
        (lambda ops: ops.softmax(A, 1, 2), WrongType, "3 arguments are given"),
        (lambda ops: ops.softmax(A, axis=1), WrongType, "no argument 'axis'"),
        (lambda ops: ops.softmax(A, x=A), WrongType, "'x' is given twice"),
        (lambda ops: ops.softmax(A, dim=1.5), WrongType, r"'dim' is a float \(1.5\)"),
        (lambda ops: ops.softmax(A, 2**64 + 1), InvalidArgument, "out of the range of int64"),
        (lambda ops: ops.sum(A, [2**64]), InvalidArgument, "out of the range of int64"),
        (lambda ops: ops.softmax("A", 1), WrongType, "'x' is 'A'"),
        (lambda ops: ops.softmax(None, 1), WrongType, "'x' is None"),
        (lambda ops: ops.leaky_relu(A, "3"), InvalidArgument, "negative_slope .* expected float"),
        (lambda ops: ops.sum(A, 1, "no"), InvalidArgument, "keepdim .* kind string; expected bool"),
        (lambda ops: ops.cat(3, 1), WrongType, "'tensors' is a int"),
        (lambda ops: ops.sum(A, ["a"]), WrongType, "'dim' is a list"),
        (lambda ops: ops.softmax(A, 2), InvalidArgument, r"Dim \(2\) is out of range of rank 2"),
        (lambda ops: ops.softmx(A, 1), AttributeError, "no operator 'softmx'"),
        (lambda ops: ops["softmx"], NotFound, "Did you mean 'softmax'"),
    ],
)
def test_wrong_calls(
    runtime: spirloom.Runtime, call: Callable[[Any], Any], error: type, message: str
) -> None:
    with pytest.raises(error, match=message):
        call(runtime.ops)


def test_names(runtime: spirloom.Runtime) -> None:
    ops = runtime.ops
    assert ops.add is ops["add"] is ops["aten.add.Tensor"]
    assert "add" in dir(ops)
    assert "add" in ops
    assert "softmx" not in ops
    assert len(ops) == len(runtime.operator_names())
    assert "alpha: float = 1.0" in str(ops.add)
    assert ops.add.__doc__ is not None


def test_tensors_of_another_runtime_are_refused(runtime: spirloom.Runtime) -> None:
    with spirloom.Runtime(cache_dir="none") as other:
        x = other.tensor(A)
    assert np.array_equal(x.numpy(), A)  # outlives its runtime
    with pytest.raises(InvalidArgument, match="'x' belongs to another Runtime"):
        runtime.ops.relu(x)
    with pytest.raises(InvalidArgument, match="The runtime is closed"):
        _ = x + 1


def test_memory_is_freed_and_reused() -> None:
    with spirloom.Runtime(cache_dir="none") as runtime:
        x = runtime.tensor(np.ones(1 << 18, np.float32))
        for _ in range(8):
            x = x + 0
        gc.collect()
        before = runtime.memory["in_use"]
        for _ in range(100):
            x = x + 0
        gc.collect()
        assert runtime.memory["in_use"] == before
        assert x.numpy().tolist() == [1] * (1 << 18)


def test_threads(runtime: spirloom.Runtime) -> None:
    results: dict[int, Array] = {}

    def work(seed: int) -> None:
        x = runtime.tensor(random(64, seed=seed))
        for _ in range(50):
            x = runtime.ops.relu(x + 1) - 1
        results[seed] = x.numpy()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, found in results.items():
        expected = np.maximum(random(64, seed=seed), -1)
        np.testing.assert_allclose(found, expected, atol=1e-5)
    assert len(results) == 4


def test_the_page(runtime: spirloom.Runtime) -> None:
    done = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert done.attempted > 8
    assert done.failed == 0
