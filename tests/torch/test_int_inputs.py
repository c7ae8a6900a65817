"""Symbolic ints among the arguments of exported programs: integer inputs of the model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
from spirloom import graph_file, graph_reader, inspect
from spirloom.errors import ImportFailure
from spirloom.ir import IntInput
from spirloom.op_library import OpLibrary
from spirloom.runtime import InvalidArgument, WrongType
from spirloom.torch.archived_program import read_archive
from spirloom.torch.build import build
from spirloom.torch.export import export
from spirloom.torch.options import Options
from torch import nn
from torch.export import Dim

X = torch.arange(24, dtype=torch.float32).reshape(8, 3) / 7 - 1


class Function(nn.Module):  # type: ignore[misc]
    """A function of a tensor and an int."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor, n: int) -> Any:
        return self.function(x, n)


class IntFirst(nn.Module):  # type: ignore[misc]
    def forward(self, n: int, x: torch.Tensor, m: int) -> Any:
        return x[:n] * m


class OnlyInt(nn.Module):  # type: ignore[misc]
    def forward(self, n: int) -> Any:
        return torch.arange(n) * 2


def _sinusoids(x: torch.Tensor, n: int) -> torch.Tensor:
    """Positions of n tokens, as in text-to-speech models with a given length."""
    angles = torch.arange(n)[:, None] * torch.exp(torch.arange(3) * -0.5)
    return torch.cat([angles.sin(), angles.cos() * x.mean(0)], dim=1)


SIZES: dict[str, Callable[..., Any]] = {
    "arange": lambda x, n: torch.arange(n) + x[0, 0],
    "slice": lambda x, n: x[:n] * 2,
    "rest": lambda x, n: x[n:] * 2,
    "expand": lambda x, n: x[:1].expand(n, 3) + 1,
    "repeat": lambda x, n: x[:2].repeat(n, 1) - 1,
    "zeros": lambda x, n: torch.zeros(n, 3) + x[0],
    "narrow": lambda x, n: x.narrow(0, 1, n).sum(0),
    "sinusoids": _sinusoids,
    "mask": lambda x, n: x.masked_fill((torch.arange(8) >= n)[:, None], 0.0),
}
NUMBERS: dict[str, Callable[..., Any]] = {
    "mul": lambda x, n: x * n,
    "add": lambda x, n: x + n,
    "rsub": lambda x, n: n - x,
    "div": lambda x, n: x / (n + 1),
    "scale": lambda x, n: x / (n + 1) ** 0.5,
    "half": lambda x, n: x * (n // 2) + n % 3,
    "full": lambda x, n: torch.full((2,), n) + x[:2, 0],
    "compare": lambda x, n: (x > n) | (torch.arange(3) == n),
    "integers": lambda x, n: (torch.arange(5) + n) * n,
    "output": lambda x, n: (x * n, n * 2 + 1),
}


def _exported(module: nn.Module, args: tuple[Any, ...], dims: Any) -> Any:
    return torch.export.export(module.eval(), args, dynamic_shapes=dims, strict=False)


def _of(function: Callable[..., Any]) -> Any:
    return _exported(Function(function), (X, 5), {"x": None, "n": Dim.DYNAMIC})


def _check(exported: Any, dims: Mapping[str, tuple[int, int]], expected: nn.Module) -> None:
    """Compares the model with PyTorch at all values of n."""
    low, high = dims["n"]
    with spirloom.load(export(exported, dims=dims)) as model:
        assert [(n.name, n.min, n.max) for n in model.int_inputs] == [("n", low, high)]
        assert [x.name for x in model.inputs] == ["x"]
        for n in (high, *range(low, high + 1)):
            found = model(X, n)
            with torch.no_grad():
                results = expected(X, n)
            results = results if isinstance(results, tuple) else (results,)
            for own, theirs in zip(found, map(torch.as_tensor, results), strict=True):
                assert own.shape == theirs.shape, n
                np.testing.assert_allclose(own, theirs, rtol=1e-6, atol=1e-6, err_msg=str(n))


@pytest.mark.parametrize("name", SIZES)
def test_sizes_equal_those_of_pytorch(name: str) -> None:
    _check(_of(SIZES[name]), {"n": (0, 7)}, Function(SIZES[name]))


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_equal_those_of_pytorch(name: str) -> None:
    _check(_of(NUMBERS[name]), {"n": (0, 9)}, Function(NUMBERS[name]))


def test_archives_have_the_same_inputs(tmp_path: Path) -> None:
    exported = _of(SIZES["slice"])
    torch.export.save(exported, tmp_path / "net.pt2")
    options = Options.of({"n": (0, 7)}, {}, strip=True)
    graph = build(read_archive(tmp_path / "net.pt2"), OpLibrary(), options)
    data = export(exported, dims={"n": (0, 7)}, strip=True)
    assert graph_file.to_bytes(graph) == data


def test_arguments_have_the_order_of_the_module() -> None:
    exported = _exported(IntFirst(), (5, X, 4), {"n": Dim.DYNAMIC, "x": None, "m": Dim.DYNAMIC})
    model = spirloom.load(export(exported, dims={"n": (1, 8), "m": (2, 9)}))
    x = X.numpy()
    for found in (
        model(3, x, 6),
        model(3, x, m=6),
        model(m=6, n=3, x=x),
        model.submit(3, x, 6).result(),
    ):
        np.testing.assert_array_equal(found[0], x[:3] * 6)
    assert repr(model).startswith("<spirloom.Model (n: int, x: float32[8, 3], m: int)")
    np.testing.assert_array_equal(model.run({"x": x, "n": np.int64(2), "m": 6})[0], x[:2] * 6)
    np.testing.assert_array_equal(model.run()[0], x[:2] * 6)  # the values remain
    model.resize({"x": (8, 3), "n": 4, "m": 2})
    assert model.outputs[0].shape == (4, 3)
    model.resize([1, (8, 3), 2])
    assert model.outputs[0].shape == (1, 3)


def test_a_model_may_have_no_tensors() -> None:
    exported = _exported(OnlyInt(), (5,), {"n": Dim.DYNAMIC})
    model = spirloom.load(export(exported, dims={"n": (0, 6)}))
    for n in (6, 0, 4, 1):
        np.testing.assert_array_equal(model(n)[0], np.arange(n) * 2)
        np.testing.assert_array_equal(model(n=n)[0], np.arange(n) * 2)


def test_values_are_checked() -> None:
    model = spirloom.load(export(_of(SIZES["slice"]), dims={"n": (2, 7)}))
    for value in (1, 8, -1):
        with pytest.raises(
            InvalidArgument,
            match=rf"Integer input 'n' is {value}, which is outside its bounds \(2 to 7\)",
        ):
            model(X, value)
    with pytest.raises(
        InvalidArgument, match=r"Integer input 'n' \(18446744073709551618\) exceeds 64 bits"
    ):
        model(X, (1 << 64) + 2)
    with pytest.raises(WrongType, match=r"Integer input 'n' \(2\.5\) is not an integer"):
        model(X, 2.5)
    with pytest.raises(WrongType, match=r"Integer input 'n' \(True\) is not an integer"):
        model(X, True)
    with pytest.raises(InvalidArgument, match=r"Input 'n' is missing; the model has 2 inputs "):
        model(X)
    assert model(X, 3)[0].shape == (3, 3)


def test_contexts_have_their_own_values() -> None:
    model = spirloom.load(export(_of(SIZES["slice"]), dims={"n": (2, 7)}))
    other = model.context()
    assert model(X, 3)[0].shape == (3, 3)
    assert other.run([X, 5])[0].shape == (5, 3)
    assert model.run()[0].shape == (3, 3)


def test_a_fixed_value_is_a_constant() -> None:
    model = spirloom.load(export(_of(NUMBERS["mul"]), dims={"n": 4}))
    assert model.int_inputs == ()
    np.testing.assert_array_equal(model(X)[0], X * 4)


def test_a_missing_maximum_names_the_input() -> None:
    with pytest.raises(ImportFailure, match=r"has no maximum for n \(input 'n'\)\. Set --dim n="):
        export(_of(NUMBERS["mul"]))


def test_inspect_lists_integer_inputs(tmp_path: Path) -> None:
    path = tmp_path / "net.slg"
    export(_of(SIZES["slice"]), dims={"n": (2, 7)}, output=path)
    graph = graph_reader.load(path)
    assert graph.int_inputs == [IntInput("n", "n", 1)]
    assert "input       n  int  2..7" in inspect.to_text(graph, OpLibrary()).splitlines()
    assert inspect.describe(graph, OpLibrary())["int_inputs"] == [{"name": "n", "min": 2, "max": 7}]


def test_a_dimension_may_equal_an_integer_input() -> None:
    class Both(nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor, n: int) -> Any:
            torch._check(x.shape[0] == n)
            return x + torch.arange(n)[:, None]

    exported = _exported(Both(), (X, 8), {"x": {0: Dim.AUTO}, "n": Dim.AUTO})
    model = spirloom.load(export(exported, dims={"n": (1, 8)}))
    np.testing.assert_array_equal(model(X[:5], 5)[0], X[:5] + torch.arange(5)[:, None])
    with pytest.raises(InvalidArgument, match="which is 4 in another input"):
        model(X[:5], 4)


def test_the_command_sets_values(tmp_path: Path) -> None:
    path = tmp_path / "net.slg"
    export(_of(SIZES["slice"]), dims={"n": (2, 7)}, output=path)
    np.save(tmp_path / "x.npy", X)

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = ["run", path, "--input", f"x={tmp_path}/x.npy", "--output-dir", tmp_path]
        return subprocess.run(
            [sys.executable, "-m", "spirloom", *map(str, command), *options],
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    (output,) = (info.name for info in spirloom.load(path).outputs)
    assert run("--int", "n=3").returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / f"{output}.npy"), X[:3] * 2)
    assert run().returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / f"{output}.npy"), X[:7] * 2)
    assert "Integer input 'n' is 8" in run("--int", "n=8").stderr
    assert "The model has no integer input 'm'." in run("--int", "m=3").stderr
    assert "'n=x' is not NAME=INTEGER" in run("--int", "n=x").stderr
