"""divide() of lib/prelude, which estimates quotients in floats, is exact for all valid operands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Tensor

from tests.tools.programs import Program

MAX = 2**31 - 1
POWERS = [2**n + d for n in (2, 15, 16, 23, 24, 25, 30) for d in (-1, 0, 1)]
EDGES = [1, 2, 7, *POWERS, MAX - 1, MAX]


def test_quotients_are_exact(spirloom_run: Program, division_pack: Path, tmp_path: Path) -> None:
    a, b = operands()
    x, y, z = (Tensor(name, DType.I32, a.shape) for name in "aby")
    model = Graph([x, y], [z], [Node("test.quotient", (x, y), (z,), "quotient")])
    graph_file.save(model, tmp_path / "model.slg")
    arguments: list[str | Path] = ["--library", division_pack, "--output-dir", tmp_path]
    for name, values in (("a", a), ("b", b)):
        np.save(tmp_path / f"{name}.npy", values.astype(np.int32))
        arguments += ["--input", f"{name}={tmp_path / name}.npy"]
    done = spirloom_run(tmp_path / "model.slg", *arguments)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), a // b)


def operands() -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    """Dividends and divisors of all magnitudes. Many dividends are multiples, or multiples - 1."""
    generator = np.random.default_rng(0)
    count = 200_000
    b = (2 ** generator.uniform(0, 31, count)).astype(np.int64)
    a = (2 ** generator.uniform(0, 31, count)).astype(np.int64)
    multiples = a // b * b
    edge_a, edge_b = (each.ravel() for each in np.meshgrid([0, *EDGES], EDGES))
    dividends = np.concatenate([a, multiples, np.maximum(multiples - 1, 0), edge_a])
    return np.minimum(dividends, MAX), np.concatenate([b, b, b, edge_b])
