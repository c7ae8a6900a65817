"""spirloom run --record and spirloom replay: files, differences, synthetic weights, damage."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
from spirloom import graph_file
from spirloom.cli import main
from spirloom.debug import replay
from spirloom.debug.synthetic_weights import restore, strip
from spirloom.errors import ImportFailure
from spirloom.ir import DType, Graph, Node, State, Tensor, constant

from tests import sample
from tests.python_runtime.debug_models import write_layer_norm_model
from tests.python_runtime.faulty_library import SHADERC, write_faulty_library

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def model(runtime: spirloom.Runtime, tmp_path: Path) -> Path:
    del runtime
    return write_layer_norm_model(tmp_path / "net.onnx")


def recorded(model: Path, *options: str | Path) -> Path:
    """The file that `spirloom run --record` writes."""
    path = model.with_name("run.slreplay")
    assert main(["run", str(model), "--random", "--record", str(path), *map(str, options)]) == 0
    return path


def test_a_replay_has_equal_results(model: Path, capsys: Capture) -> None:
    path = recorded(model)
    assert "3 tensors of 3 nodes, 1 outputs" in capsys.readouterr().out
    assert main(["replay", str(path), "--compare"]) == 0
    text = capsys.readouterr().out
    assert "output y: equal, relative error 0.00e+00\n3 of 3 nodes are equal.\n" in text
    assert f"spirloom {spirloom.__version__}\n" in text
    assert main(["replay", str(path), "--json", "--storage", "texture3d"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["nodes"] is None and found["recorded"] == found["here"]
    assert not found["outputs"][0]["wrong"]


def test_equal_runs_give_equal_files(model: Path) -> None:
    first = recorded(model).read_bytes()
    assert recorded(model).read_bytes() == first


@pytest.mark.skipif(not Path(SHADERC).exists(), reason="The shader compiler is not built.")
def test_the_first_difference(model: Path, tmp_path: Path, capsys: Capture) -> None:
    """A recording contains the libraries of --override, which run on request only. Without them,
    the norm differs first."""
    faulty = write_faulty_library(tmp_path / "faulty.slpack")
    path = recorded(model, "--override", faulty)
    faulty.unlink()
    assert main(["replay", str(path), "--compare", "--with-libraries"]) == 0
    assert "which this run does not" not in capsys.readouterr().err
    assert main(["replay", str(path), "--compare"]) == 1
    text, messages = capsys.readouterr()
    assert "the recording used 1 shader library, which this run does not" in messages
    assert "output y: WRONG" in text and "1 of 3 nodes are equal." in text
    assert "First above the tolerance: norm (layer_norm" in text


def test_stripped_weights(model: Path, capsys: Capture) -> None:
    with zipfile.ZipFile(recorded(model)) as archive:
        weights = archive.read("model.slg")
    path = recorded(model, "--strip-weights")
    with zipfile.ZipFile(path) as archive:
        data = archive.read("model.slg")
    (kernel,) = (t for t in _graph(weights).tensors() if t.shape == (24, 16))
    assert kernel.data is not None
    assert kernel.data[0].tobytes() in weights and kernel.data[0].tobytes() not in data
    assert main(["replay", str(path), "--compare"]) == 0
    assert "3 of 3 nodes are equal." in capsys.readouterr().out
    (synthetic,) = (t for t in replay.load(path).graph.tensors() if t.shape == (24, 16))
    assert synthetic.data is not None
    assert not np.array_equal(synthetic.data, kernel.data)
    assert synthetic.data.std() == pytest.approx(kernel.data.std(), rel=0.2)
    assert kernel.data.min() <= synthetic.data.min() <= synthetic.data.max() <= kernel.data.max()


def _graph(data: bytes) -> Graph:
    from spirloom.graph_reader import read_methods

    return read_methods(memoryview(data), "model.slg")[0]


def test_synthetic_weights_of_all_dtypes() -> None:
    from spec_model.stored_float import decoded, encoded

    values = np.random.default_rng(0).standard_normal((20, 20))
    arrays: dict[DType, Any] = {
        DType.F32: values.astype(np.float32),
        DType.F16: values.astype(np.float16),
        DType.BF16: encoded(values, DType.BF16),
        DType.I8: (values * 20).astype(np.int8),
        DType.I32: (values * 20).astype(np.int32),
    }
    tensors = [constant(dtype.name, array) for dtype, array in arrays.items()]
    graph = Graph(nodes=[Node("test.all", tuple(tensors), ())])
    statistics = strip(graph)
    assert [each["tensor"] for each in statistics] == [0, 1, 2, 3]  # int32 is kept
    assert all(t.data is not None and not t.data.view(np.uint8).any() for t in tensors[:4])
    restore(graph, statistics)
    made = {t.name: t.data for t in tensors}
    for dtype in (DType.F32, DType.F16, DType.I8):
        array = made[dtype.name]
        assert array is not None and array.dtype == arrays[dtype].dtype
        assert array.std() == pytest.approx(arrays[dtype].std(), rel=0.15)
    stored = made["BF16"]
    assert stored is not None and decoded(stored, DType.BF16).std() == pytest.approx(1, rel=0.15)
    with pytest.raises(ImportFailure, match="statistics of a tensor 9"):
        restore(graph, [{"tensor": 9}])


def test_states_are_recorded(runtime: spirloom.Runtime, tmp_path: Path, capsys: Capture) -> None:
    del runtime
    x, y, total, new = (Tensor(name, DType.F32, (3,)) for name in ("x", "y", "total", "new"))
    nodes = [
        Node("aten.mul.Tensor", (x, total), (y,), "scale"),
        Node("aten.neg", (total,), (new,), "next"),
    ]
    graph_file.save(Graph([x], [y], nodes, states=[State(total, new)]), tmp_path / "g.slg")
    np.save(tmp_path / "total.npy", np.array([1, 2, 3], np.float32))
    path = recorded(tmp_path / "g.slg", "--input", f"total={tmp_path / 'total.npy'}")
    found = replay.load(path)
    np.testing.assert_array_equal(
        found.outputs["y"], found.inputs["x"] * np.load(tmp_path / "total.npy")
    )
    assert main(["replay", str(path)]) == 0
    assert "output y: equal" in capsys.readouterr().out


def test_repeated_runs(model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits that change between runs, as in a race, are an error."""
    path = recorded(model)
    assert main(["replay", str(path), "--repeat", "3"]) == 0
    assert "other bits" not in capsys.readouterr().out
    run, count = replay.run_outputs, 0

    def unstable(*arguments: Any) -> dict[str, Any]:
        nonlocal count
        count += 1
        outputs = run(*arguments)
        if count == 2:
            outputs["y"] = np.nextafter(outputs["y"], np.float32(9))
        return outputs

    monkeypatch.setattr(replay, "run_outputs", unstable)
    assert main(["replay", str(path), "--repeat", "3"]) == 1
    assert "output y: other bits in 1 of 3 runs\n" in capsys.readouterr().out


def test_damaged_files(model: Path) -> None:
    """Every damage is either refused with ImportFailure, or not noticed."""
    path = recorded(model)
    data = path.read_bytes()
    seed = sample.seed()
    generator = random.Random(seed)
    for _ in range(60):
        changed = bytearray(data)
        for _ in range(generator.randint(1, 4)):
            changed[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        damaged = bytes(changed[: generator.choice([len(data), generator.randrange(len(data))])])
        path.write_bytes(damaged)
        try:
            replay.load(path)
        except ImportFailure as error:
            assert str(path) in str(error) or ".npy" in str(error), f"seed {seed}"


def test_damaged_members(model: Path) -> None:
    """The same below the checksums of the archive."""
    path = recorded(model)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    wrong: list[dict[str, object]] = [
        {"format": "other"}, {"version": 2}, {"inputs": ["x", "y"]}, {"inputs": 3},
        {"libraries": 1}, {"weights": [{"tensor": 0}]}, {"weights": 7}, {"environment": {}},
    ]  # fmt: skip
    for change in wrong:
        members["manifest.json"] = json.dumps({**manifest, **change}).encode()
        path.write_bytes(_archive(members))
        with pytest.raises(ImportFailure):
            replay.load(path)
    members["manifest.json"] = b"[1]"
    path.write_bytes(_archive(members))
    with pytest.raises(ImportFailure, match="does not state the format 'spirloom-replay'"):
        replay.load(path)
    with pytest.raises(ImportFailure, match=r"Cannot read .*none.slreplay: No such file"):
        replay.load(path.with_name("none.slreplay"))


def _archive(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()
