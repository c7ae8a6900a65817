"""spirloom compare: the metrics against NumPy, and the command with two graphs."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import spirloom
from spirloom import graph_file
from spirloom.cli import main
from spirloom.comparison import compare, difference
from spirloom.errors import ImportFailure
from spirloom.ir import DType, Graph, Node, Tensor, constant


def test_metrics() -> None:
    random = np.random.default_rng(0)
    a = random.standard_normal((3, 50)).astype(np.float32)
    b = (a + 0.01 * random.standard_normal(a.shape)).astype(np.float32)
    x, y = a.astype(np.float64), b.astype(np.float64)
    found = difference("y", a, b)
    assert found.max_abs == pytest.approx(np.abs(x - y).max())
    assert found.relative == pytest.approx(np.sqrt(((x - y) ** 2).sum() / (x**2).sum()))
    power = np.var(x) + x.mean() ** 2
    assert found.sqnr == pytest.approx(10 * np.log10(power / np.mean((x - y) ** 2)))
    assert found.cosine == pytest.approx((x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum()))


def test_metrics_of_special_values() -> None:
    ones, zeros = np.ones(4), np.zeros(4)
    same = difference("y", ones, ones)
    assert (same.max_abs, same.relative, same.sqnr, same.cosine) == (0, 0, math.inf, 1)
    assert difference("y", zeros, zeros).cosine == 1
    all_zero = difference("y", ones, zeros)
    assert (all_zero.max_abs, all_zero.relative, all_zero.sqnr, all_zero.cosine) == (1, 1, 0, 0)
    assert difference("y", zeros, ones).relative == math.inf
    large = difference("y", np.full(4, 3e200), np.full(4, 1e200))
    assert large.relative == pytest.approx(2 / 3) and large.cosine == pytest.approx(1)
    open_ends = np.array([1.0, math.inf, math.nan])
    assert difference("y", open_ends, open_ends).sqnr == math.inf
    assert difference("y", open_ends, np.array([1.0, 2.0, math.nan])).max_abs == math.inf
    assert difference("y", np.empty(0), np.empty(0)).sqnr == math.inf


def scaled(path: Path, factor: float, shape: tuple[int, ...] = (2, 3)) -> Path:
    """y = relu(product), product = x * factor. The input `ids` is not read."""
    x, product, y = (Tensor(name, DType.F32, shape) for name in ("x", "product", "y"))
    ids = Tensor("ids", DType.I32, (4,))
    second = constant("factor", np.asarray(factor, np.float32))
    nodes = [
        Node("aten.mul.Tensor", (x, second), (product,), "scale"),
        Node("aten.relu", (product,), (y,), "relu"),
    ]
    graph_file.save(Graph([x, ids], [y], nodes), path)
    return path


@pytest.fixture
def pair(runtime: spirloom.Runtime, tmp_path: Path) -> tuple[Path, Path]:
    del runtime
    return scaled(tmp_path / "a.slg", 1.0), scaled(tmp_path / "b.slg", 1.25)


def test_the_table(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *map(str, pair), "--random", "--layers"]) == 0
    title, product, y = capsys.readouterr().out.splitlines()
    assert title.split() == ["tensor", "max", "abs", "relative", "SQNR", "dB", "cosine"]
    assert product.split()[0] == "product"
    # The factor differs by 1/4: 20 log10(1 / 0.25) = 12.0 dB.
    assert y.split()[2:] == ["2.50e-01", "12.0", "1.0000000"]


def test_given_inputs_and_json(
    pair: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.asarray([[-1, 1, 2], [0, 4, -8]], np.float32))
    given = ["--input", f"x={tmp_path / 'x.npy'}", "--random", "--json"]
    assert main(["compare", *map(str, pair), *given]) == 0
    (y,) = json.loads(capsys.readouterr().out)["outputs"]
    assert (y["name"], y["max_abs"]) == ("y", 1.0)
    assert main(["compare", str(pair[0]), str(pair[0]), *given]) == 0
    (y,) = json.loads(capsys.readouterr().out)["outputs"]
    assert (y["max_abs"], y["sqnr_db"]) == (0.0, None)


def test_invalid_arguments(pair: tuple[Path, Path], tmp_path: Path) -> None:
    other = scaled(tmp_path / "c.slg", 1.0, (2, 4))
    with pytest.raises(ImportFailure, match=r"input 'x' of .*a.slg is float32\[2, 3\], and of"):
        compare(pair[0], other, {}, seed=0)
    with pytest.raises(ImportFailure, match="input 'x' has no value. Use --input x=FILE.npy"):
        compare(*pair, {})
    with pytest.raises(ImportFailure, match="There is no input 'z'. The inputs are: x, ids"):
        compare(*pair, {"z": np.zeros(1)}, seed=0)
    with pytest.raises(ImportFailure, match="has no method 'decode', only"):
        compare(*pair, {}, seed=0, method="decode")
