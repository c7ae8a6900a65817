"""The cache of exported networks under concurrent writers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.network import export


def write_empty_network(folder: Path) -> None:
    np.savez(folder / "inputs.npz", x=np.zeros(1, np.float32))
    np.save(folder / "logits.npy", np.zeros(1, np.float32))


def test_another_process_may_be_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    final = tmp_path / f"net-{export.recipe()}"

    def write_network(name: str, folder: Path) -> None:
        for where in (folder, final):
            where.mkdir(exist_ok=True)
            write_empty_network(where)

    monkeypatch.setattr(export, "write_network", write_network)
    exported = export.export_network("net", tmp_path)
    assert exported.onnx == final / "model.onnx"
    assert list(tmp_path.iterdir()) == [final]


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_network(name: str, folder: Path) -> None:
        write_empty_network(folder)
        raise RuntimeError("no such operator")

    monkeypatch.setattr(export, "write_network", write_network)
    with pytest.raises(RuntimeError, match="no such operator"):
        export.export_network("net", tmp_path)
    assert list(tmp_path.iterdir()) == []
