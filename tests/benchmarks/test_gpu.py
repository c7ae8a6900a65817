"""The GPU bundle runs outside the repository, and its results become a page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spirloom.ir import DType, Graph, Node, Tensor, constant
from spirloom.ops import OpLibrary

from benchmarks.calls import library
from benchmarks.context import BenchmarkFailed
from benchmarks.gpu.bundle import make_bundle
from benchmarks.gpu.calls import calls_of, write_pack
from benchmarks.gpu.language import LLAMA_1B, LanguageModel
from benchmarks.gpu.networks import Network
from benchmarks.gpu.page import files, label, read_results, share
from benchmarks.gpu.weights import with_synthetic_weights
from spec_model import SpecError

ROOT = Path(__file__).resolve().parents[2]
OPS = OpLibrary()
BUILD = Path(os.environ.get("SPIRLOOM_BUILD", ROOT / "build" / "release"))
TABLE = """\
gemm:
  - {op: aten.mm, call: {a: [16, 32], b: [32, 16]}}
gemv:
  - {op: aten.linear, call: {x: [1, 64], weight: [64, 64], bias: null}, dtypes: [f32]}
  - op: spirloom.linear_w4
    call: {x: [1, 64], weight: [128, 32], scales: [2, 128], group: 32, bias: null, zeros: null}
    dtypes: [f16]
memory:
  - {op: aten.permute, call: {x: [8, 16], dims: [1, 0]}, torch: aten.permute_copy, dtypes: [f16]}
"""
TINY = {
    **LLAMA_1B,
    "vocab_size": 300,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "calls.yaml"
    path.write_text(TABLE)
    return path


@pytest.fixture(scope="module")
def results(table: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of bench.py, run in isolated Python."""
    directory = tmp_path_factory.mktemp("bundle") / "bundle"
    networks = [Network("squeezenet1_1", 1, ("f32",))]
    make_bundle(BUILD, directory, networks, table, [LanguageModel("tiny", TINY)])
    out = directory / "gpu.json"
    done = subprocess.run(
        [sys.executable, "-I", directory / "bench.py", "--out", out, "--times", "1"],
        capture_output=True, text=True, check=False, cwd="/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    before: dict[str, Any] = json.loads(out.read_text())
    done = subprocess.run(
        [sys.executable, "-I", directory / "bench.py", "--out", out, "--parts", "tuned,peaks"],
        capture_output=True, text=True, check=False, cwd="/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(out.read_text())
    assert "tuned" not in before
    updated = {key: found[key] for key in ("date", "peaks", "tuned")}
    assert found == before | updated
    check_another_bundle(directory, found)
    return found


def check_another_bundle(directory: Path, found: dict[str, Any]) -> None:
    """Of the results of another bundle, only the peaks and PyTorch's unchanged calls are reused."""
    out = directory / "another.json"
    first, *others = found["calls"]
    theirs: dict[str, Any] = {
        "version": "2.0",
        "calls": {call["id"]: 1e-6 for call in found["calls"]},
    }
    changed = [{**first, "bytes": 1}, *others]
    out.write_text(json.dumps(found | {"bundle": "another", "torch": theirs, "calls": changed}))
    subprocess.run(
        [sys.executable, "-I", directory / "bench.py", "--out", out, "--parts", "calls"],
        capture_output=True, check=True, cwd="/",
    )  # fmt: skip
    updated = json.loads(out.read_text())
    assert updated.keys() == {"bundle", "date", "times", "calls", "call_times", "peaks", "torch"}
    assert updated["peaks"] == found["peaks"]
    assert updated["torch"] == {**theirs, "calls": {call["id"]: 1e-6 for call in others}}


def test_the_committed_table_is_valid(tmp_path: Path) -> None:
    calls = write_pack(tmp_path / "calls.slcases")
    assert len({call.id for call in calls}) == len(calls) > 50
    assert (tmp_path / "calls.slcases").stat().st_size < 1 << 20, "the pack contains weights"


def test_every_call_and_network_is_timed(results: dict[str, Any]) -> None:
    assert [call["id"] for call in results["calls"]] == list(results["call_times"])
    assert len(results["calls"]) == 5
    for timed in (*results["call_times"].values(), *results["network_times"].values()):
        assert timed["seconds"] > 0
    linear = [v["kernels"] for k, v in results["call_times"].items() if "linear" in k]
    assert ["linear" in kernels for kernels in linear] == [True, True]
    assert not any(
        "noise" in kernels or "quantize" in kernels for kernels in linear
    ), "weights are generated at load time"
    gpu = results["network_gpu_times"]["squeezenet1_1-1-f32"]
    assert gpu["dispatches"] > 20
    assert gpu["seconds"] > 0


def test_tuned_networks_are_timed(results: dict[str, Any], tmp_path: Path) -> None:
    for key in ("network_times", "network_gpu_times"):
        assert results["tuned"][key].keys() == results[key].keys()
        assert results["tuned"][key]["squeezenet1_1-1-f32"]["seconds"] > 0
    (tmp_path / "gpu-a.json").write_text(json.dumps(results))
    text = files(read_results(tmp_path))["docs/performance/gpus.md"]
    assert "### Networks with autotuned kernels" in text
    untuned = {key: value for key, value in results.items() if key != "tuned"}
    (tmp_path / "gpu-a.json").write_text(json.dumps(untuned))
    assert (
        "### Networks with autotuned kernels"
        not in files(read_results(tmp_path))["docs/performance/gpus.md"]
    )


def test_missing_parts_are_reported(results: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "gpu-a.json"
    path.write_text(json.dumps({k: v for k, v in results.items() if k != "torch"}))
    assert "no PyTorch: not measured" in files(read_results(tmp_path))["docs/performance/gpus.md"]
    path.write_text(json.dumps({k: v for k, v in results.items() if k != "call_times"}))
    with pytest.raises(BenchmarkFailed, match=r"has no call_times; add it with .* --parts calls"):
        read_results(tmp_path)


def test_language_models_are_timed(results: dict[str, Any]) -> None:
    assert set(results["language"]) == {"tiny-f16", "tiny-int4", "tiny-bf16"}
    for rates in results["language"].values():
        assert rates["prompt_tokens_per_second"] > 0
        assert rates["tokens_per_second"] > 0
        assert rates["dispatches"] > 5


def test_missing_cuda_is_reported(results: dict[str, Any]) -> None:
    assert results["torch"]["missing"]


def test_a_page_has_every_call(results: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "gpu-a.json").write_text(json.dumps(results))
    made = files(read_results(tmp_path))
    text = made["docs/performance/gpus.md"]
    for expected in (
        "mm 16x32 32x16 f16",
        "permute 8x16",
        "linear_w4 1x64 128x32",
        "| squeezenet1_1 | 1 | f32 |",
        "| tiny | int4 |",
        "| tiny | bf16 |",
        "no PyTorch",
    ):
        assert expected in text, text
    assert "<svg" in made["docs/performance/gpus-a.svg"]


def test_peers_are_compared(results: dict[str, Any], tmp_path: Path) -> None:
    calls = {
        call["id"]: 2 * results["call_times"][call["id"]]["seconds"] for call in results["calls"]
    }
    with_peer = {**results, "torch": {"version": "2", "calls": calls, "networks": {}}}
    (tmp_path / "gpu-a.json").write_text(json.dumps(with_peer))
    page = files(read_results(tmp_path))["docs/performance/gpus.md"]
    lines = (line.strip("| ").split(" | ") for line in page.splitlines())
    rows = {cells[0]: cells for cells in lines}
    assert [rows[label(call)][5] for call in results["calls"]] == ["2.00×"] * len(calls)


def test_a_gemv_is_rated_by_bandwidth() -> None:
    peaks = {"multiply_add": 200.0, "copy": 1000.0}
    call = {"group": "gemv", "multiply_adds": 50, "bytes": 500}
    assert share(call, 1.0, peaks) == 0.5
    assert share({**call, "group": "gemm"}, 1.0, peaks) == 0.5
    assert share({**call, "multiply_adds": 0}, 2.0, peaks) == 0.25


def test_large_weights_are_synthetic() -> None:
    x, y = Tensor("x", DType.F32, (1, 64)), Tensor("y", DType.F32, (1, 64))
    large = constant("w", np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32))
    small = constant("b", np.ones(64, np.float32))
    node = Node("aten.linear", (x, large, small, 0, 0.0, 0.0, None), (y,))
    graph = with_synthetic_weights(Graph([x], [y], [node]))
    assert large.data is None
    assert small.data is not None
    generator = graph.nodes[0]
    assert generator.outputs == (large,)
    assert generator.args[1] == pytest.approx(3**0.5, rel=0.1)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_synthetic_quantized_weights_use_the_whole_range(dtype: type[Any]) -> None:
    weight, y = constant("w", np.zeros((64, 128), dtype)), Tensor("y", DType.F32, (64, 128))
    node = Node("aten._to_copy", (weight, "f32"), (y,))
    noise, rounded, _ = with_synthetic_weights(Graph([], [y], [node])).nodes
    assert weight.data is None and rounded.outputs == (weight,)
    assert next(iter(rounded.inputs())) is noise.outputs[0]
    args = dict(zip(OPS.arg_names(rounded.op), rounded.args, strict=True))
    given = {name: arg.data if isinstance(arg, Tensor) else arg for name, arg in args.items()}
    (values,) = OPS.compute(rounded.op, {**given, "x": np.linspace(-1, 1, 9, dtype=np.float32)})
    limits = np.iinfo(dtype)
    assert (values.min(), values.max()) == (limits.min, limits.max)


def test_synthetic_bf16_weights_are_rounded_noise() -> None:
    x, y = Tensor("x", DType.F32, (1, 64)), Tensor("y", DType.F32, (1, 64))
    weight = constant("w", np.zeros((64, 64), DType.BF16.numpy))
    args = OPS.complete("spirloom.linear_bf16", {"x": x, "weight": weight})
    noise, rounded, _ = with_synthetic_weights(
        Graph([x], [y], [Node("spirloom.linear_bf16", args, (y,))])
    ).nodes
    assert (noise.op, rounded.op) == ("bench.noise", "aten._to_copy")
    assert rounded.args[0] is noise.outputs[0] and rounded.outputs == (weight,)
    assert noise.args[1] == 1 / 8  # one over the root of the depth


def test_an_invalid_table_is_rejected_with_its_position(tmp_path: Path) -> None:
    path = tmp_path / "calls.yaml"
    path.write_text("gemm:\n  - {op: aten.nothing, call: {}}\n")
    with pytest.raises(SpecError, match=r"calls.yaml:2:10: .*Operator 'aten.nothing' has no spec"):
        list(calls_of(library(), path))
