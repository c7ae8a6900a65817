"""The formats that messages of readers name, with files that libraries write."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from spec_model.file_kinds import FILE_KINDS, MAX_BYTES, advice, file_kind


def kind(path: Path) -> str | None:
    with path.open("rb") as file:
        found = file_kind(file.read(MAX_BYTES))
    return None if found is None else found.kind


@pytest.mark.parametrize("producer", ["", "a tool"])
def test_onnx(tmp_path: Path, producer: str) -> None:
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(graph, producer_name=producer), tmp_path / "m")
    assert kind(tmp_path / "m") == "an ONNX model"


def test_archives_and_objects(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "m", "w") as archive:
        archive.writestr("a", "b")
    assert kind(tmp_path / "m") == "a ZIP file"
    (tmp_path / "m").write_bytes(pickle.dumps({"a": np.zeros(3)}, protocol=2))
    assert kind(tmp_path / "m") == "a pickled Python object"
    header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    (tmp_path / "m").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    assert kind(tmp_path / "m") == "a safetensors file"


def test_repository(tmp_path: Path) -> None:
    """Of other formats, none is taken for one of these."""
    root = Path(__file__).resolve().parents[2]
    for path in (*root.glob("*.*"), *(root / "docs").rglob("*.png")):
        assert not path.is_file() or kind(path) is None, path
    assert kind(root / "examples/digits/digits.onnx") == "an ONNX model"


def test_short_and_expected_files() -> None:
    assert [advice(b"GGUF"[:n], "") for n in range(4)] == [""] * 4
    assert advice(b"GGUF", "a GGUF file") == ""
    assert advice(b"GGUF", "x") == " It is a GGUF file. Import it: spirloom import FILE.gguf -o " \
        "MODEL.slg."  # fmt: skip
    assert all(not each.remedy.endswith(".") for each in FILE_KINDS)
