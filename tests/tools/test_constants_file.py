"""A graph file requires its constants file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Tensor, constant

from tests.tools.programs import Program


def save_sum(path: Path, weight: float) -> None:
    """y = x + weight, with the weight in a separate file."""
    x, y = (Tensor(name, DType.F32, (3,)) for name in "xy")
    w = constant("w", np.full(3, weight, np.float32))
    node = Node("aten.add.Tensor", (x, w, 1.0, 0, 0.0, 0.0), (y,), "sum")
    graph_file.save(Graph([x], [y], [node]), path, external_data=True)


@pytest.fixture
def inputs(tmp_path: Path) -> list[str | Path]:
    np.save(tmp_path / "x.npy", np.arange(3, dtype=np.float32))
    return ["--input", f"x={tmp_path}/x.npy", "--output-dir", tmp_path / "out"]


def test_matching_files_run(
    spirloom_run: Program, tmp_path: Path, inputs: list[str | Path]
) -> None:
    for weight in (10, 20):  # the second import overwrites the first
        save_sum(tmp_path / "m.slg", weight)
        done = spirloom_run(tmp_path / "m.slg", *inputs)
        assert done.returncode == 0, done.stderr
        y = np.load(tmp_path / "out/y.npy")
        np.testing.assert_array_equal(y, np.arange(3) + weight)


def test_mismatched_files_are_rejected(
    spirloom_run: Program, tmp_path: Path, inputs: list[str | Path]
) -> None:
    save_sum(tmp_path / "m.slg", 10)
    old = (tmp_path / "m.slg").read_bytes()
    save_sum(tmp_path / "m.slg", 20)
    (tmp_path / "m.slg").write_bytes(old)
    done = spirloom_run(tmp_path / "m.slg", *inputs)
    assert done.returncode == 2 and not (tmp_path / "out/y.npy").exists()
    assert "constants file 'm.slg.data' does not match the graph: expected digest" in done.stderr
    assert "import the model again" in done.stderr and f"reading {tmp_path}/m.slg" in done.stderr


def test_truncated_constants_are_rejected(
    spirloom_run: Program, tmp_path: Path, inputs: list[str | Path]
) -> None:
    save_sum(tmp_path / "m.slg", 10)
    data = tmp_path / "m.slg.data"
    data.write_bytes(data.read_bytes()[:-1])
    done = spirloom_run(tmp_path / "m.slg", *inputs)
    assert done.returncode == 2
    assert "The constants file 'm.slg.data' (127 bytes) is damaged or truncated." in done.stderr
