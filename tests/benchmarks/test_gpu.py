"""The GPU bundle runs outside the repository, and its results become a page."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spirloom import graph_file
from spirloom.graph_reader import load
from spirloom.ir import DType, Graph, Node, Tensor, constant
from spirloom.op_library import OpLibrary

from benchmarks.calls import library
from benchmarks.context import BenchmarkFailed
from benchmarks.gpu.bundle import make_bundle
from benchmarks.gpu.calls import calls_of, write_pack
from benchmarks.gpu.gguf_model import tensors, write
from benchmarks.gpu.language import LANGUAGE_MODELS, LLAMA_1B, LLAMA_8B, LanguageModel
from benchmarks.gpu.networks import Network
from benchmarks.gpu.page import files, label, read_results, share
from benchmarks.gpu.readme import BEGIN, END, draw, updated
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
SIZES = {**LLAMA_8B, "hidden": 256, "inner": 512, "layers": 2, "heads": 4, "kv_heads": 2,
         "vocabulary": 300}  # fmt: skip
TINY = LanguageModel("tiny", "q4_0", SIZES, 16, (16, 32), (16, 256), 512)
# As much of cyllama as llama_cpp_language.py uses; the token is the length of the context.
CYLLAMA = """
class LlamaModelParams: pass
class LlamaContextParams: pass
class LlamaSamplerChainParams: pass
class LlamaModel:
    def __init__(self, path, params): assert open(path, "rb").read(4) == b"GGUF"
class LlamaContext:
    def __init__(self, model, params): self.size, self.length = params.n_ctx, 0
    def kv_cache_clear(self): self.length = 0
    def decode(self, batch):
        tokens, position = batch
        assert position == self.length and position + len(tokens) <= self.size
        self.length += len(tokens)
class LlamaSampler:
    def __init__(self, params): pass
    def add_greedy(self): pass
    def sample(self, context, index): return context.length
def llama_batch_get_one(tokens, position): return tokens, position
def disable_logging(): pass
def ggml_backend_load_all(): pass
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "calls.yaml"
    path.write_text(TABLE)
    return path


@pytest.fixture(scope="module")
def bundle(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a small bundle, with a stand-in for llama.cpp."""
    directory = tmp_path_factory.mktemp("bundle") / "bundle"
    networks = [Network("squeezenet1_1", 1, ("f32",))]
    make_bundle(BUILD, directory, networks, table, [TINY], published=())
    peer = directory / "site" / "cyllama" / "llama"
    peer.mkdir(parents=True)
    (peer / "llama_cpp.py").write_text(CYLLAMA)
    return directory


def run_bench(bundle: Path, out: Path, *arguments: str) -> tuple[str, dict[str, Any]]:
    """The output and the results of bench.py, run in isolated Python."""
    done = subprocess.run(
        [sys.executable, "-I", bundle / "bench.py", "--out", out, *arguments],
        capture_output=True, text=True, check=False, cwd="/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(out.read_text()) if out.exists() else {}


@pytest.fixture(scope="module")
def results(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("results") / "gpu.json"
    printed, found = run_bench(bundle, out, "--minutes", "0")
    assert printed.startswith("incomplete") and not found
    _, first = run_bench(bundle, out, "--parts", "peaks,calls")
    assert first.keys() == {"bundle", "date", "times", "peaks", "calls", "call_times",
                            "call_rounds"}  # fmt: skip
    printed, found = run_bench(bundle, out)
    assert "complete: " in printed and "incomplete" not in printed
    assert {key: found[key] for key in first} == first, "what the file has is not measured again"
    assert "tuned" not in found
    return found


def test_more_processes_continue_a_file(
    bundle: Path, results: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "gpu.json"
    out.write_text(json.dumps(results))
    _, found = run_bench(bundle, out, "--parts", "calls", "--times", "2")
    assert found["call_rounds"] == 2 and found["networks"] == results["networks"]
    for name, timed in found["call_times"].items():
        assert timed["seconds"] <= results["call_times"][name]["seconds"]


def test_results_of_another_bundle_are_replaced(
    bundle: Path, results: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "gpu.json"
    out.write_text(json.dumps(results | {"bundle": "another"}))
    _, found = run_bench(bundle, out, "--parts", "peaks")
    assert found.keys() == {"bundle", "date", "times", "peaks"}


def test_the_committed_table_is_valid(tmp_path: Path) -> None:
    calls = write_pack(tmp_path / "calls.slcases")
    assert len({call.id for call in calls}) == len(calls) > 50
    assert (tmp_path / "calls.slcases").stat().st_size < 1 << 20, "the pack contains weights"


def test_every_call_and_network_is_timed(results: dict[str, Any]) -> None:
    assert [call["id"] for call in results["calls"]] == list(results["call_times"])
    assert len(results["calls"]) == 5
    for timed in (*results["call_times"].values(), *results["networks"].values()):
        assert timed["seconds"] > 0
    linear = [v["kernels"] for k, v in results["call_times"].items() if "linear" in k]
    assert ["linear" in kernels for kernels in linear] == [True, True]
    assert not any(
        "noise" in kernels or "quantize" in kernels for kernels in linear
    ), "weights are generated at load time"
    network = results["networks"]["squeezenet1_1-1-f32"]
    assert network["dispatches"] > 20
    assert network["gpu_seconds"] > 0


def pages_of(results: dict[str, Any], folder: Path) -> dict[str, str]:
    (folder / "gpu-a.json").write_text(json.dumps(results))
    return files(read_results(folder))


def page_of(results: dict[str, Any], folder: Path) -> str:
    return pages_of(results, folder)["docs/performance/gpus.md"]


def test_tuned_networks_are_timed(bundle: Path, results: dict[str, Any], tmp_path: Path) -> None:
    copy = tmp_path / "bundle"
    shutil.copytree(bundle, copy)
    shutil.rmtree(copy / "networks")
    (copy / "networks").mkdir()
    x, y = Tensor("x", DType.F32, (1, 64)), Tensor("y", DType.F32, (1, 64))
    relu = Node("aten.relu", (x,), (y,))
    graph_file.save(Graph([x], [y], [relu]), copy / "networks" / "tiny-1-f32.slg")
    _, found = run_bench(copy, tmp_path / "gpu.json", "--parts", "networks,tuned")
    assert found["tuned"].keys() == found["networks"].keys() == {"tiny-1-f32"}
    assert found["tuned"]["tiny-1-f32"]["gpu_seconds"] > 0
    heading = "### Networks with autotuned kernels"
    assert heading in page_of(results | found, tmp_path)
    assert heading not in page_of(results, tmp_path)


def test_missing_parts_are_reported(results: dict[str, Any], tmp_path: Path) -> None:
    without = {key: value for key, value in results.items() if key != "torch"}
    assert "no PyTorch: not measured" in page_of(without, tmp_path)
    path = tmp_path / "gpu-a.json"
    path.write_text(json.dumps({k: v for k, v in results.items() if k != "call_times"}))
    with pytest.raises(BenchmarkFailed, match=r"has no call_times; add it with .* --parts calls"):
        read_results(tmp_path)


def test_language_models_are_timed(results: dict[str, Any]) -> None:
    (found,) = results["language"].values()
    for program in ("spirloom", "llama_cpp"):
        assert found[program]["prefill"].keys() == {"16", "32"}
        assert found[program]["decode"].keys() == {"16", "256"}
        assert min(found[program]["prefill"].values()) > 0
        assert min(found[program]["decode"].values()) > 0
        assert found[program]["load_seconds"] > 0
    assert found["import_seconds"] > 0


def test_failures_are_results(bundle: Path, results: dict[str, Any], tmp_path: Path) -> None:
    copy = tmp_path / "bundle"
    shutil.copytree(bundle, copy)
    shutil.rmtree(copy / "site" / "cyllama")
    (copy / "networks" / "squeezenet1_1-1-f32.slg").write_bytes(b"damaged")
    models = [asdict(TINY), asdict(replace(TINY, name="broken", sizes={**SIZES, "hidden": 250}))]
    (copy / "language.json").write_text(json.dumps(models))
    _, found = run_bench(copy, tmp_path / "gpu.json", "--parts", "networks,language")
    assert found["networks"]["squeezenet1_1-1-f32"]["error"]
    assert "cyllama" in found["language"]["tiny-q4_0"]["llama_cpp"]["missing"]
    assert "rows of 250 are no multiple of 32" in found["language"]["broken-q4_0"]["error"]
    text = page_of(results | found | {"tuned": found["networks"]}, tmp_path)
    assert "| squeezenet1_1 | 1 | f32 | failed |" in text
    assert "| broken | q4_0 | failed: q4_0: rows of 250 are no multiple of 32 |" in text


@pytest.mark.parametrize("weights", ["q4_0", "q4_k", "f16"])
def test_gguf_models_import(weights: str, tmp_path: Path) -> None:
    gguf, slg = tmp_path / "model.gguf", tmp_path / "model.slg"
    write(gguf, weights, SIZES)
    options = ["--context", "64", "--fp16"]
    subprocess.run(
        [sys.executable, "-m", "spirloom", "import", gguf, "-o", slg, *options], check=True
    )
    matrices = [name for name, shape, _ in tensors(SIZES, weights) if len(shape) == 2]
    stored = [t for node in load(slg).nodes for t in node.inputs() if t.data is not None]
    contents = {t.data.tobytes() for t in stored if t.data is not None and t.size >= 4096}
    assert len(contents) > len(matrices) // 2, "equal matrices would be stored once"


def test_the_models_have_published_sizes() -> None:
    def parameters(sizes: Mapping[str, int]) -> int:
        return sum(prod(shape) for _, shape, _ in tensors(sizes, "f16"))

    assert parameters(LLAMA_8B) == 8_030_261_248
    assert parameters(LLAMA_1B) == 1_235_814_400
    assert len({(each.name, each.weights) for each in LANGUAGE_MODELS}) == 6


def test_missing_cuda_is_reported(results: dict[str, Any]) -> None:
    assert results["torch"]["missing"]


def test_a_page_has_every_call(results: dict[str, Any], tmp_path: Path) -> None:
    made = pages_of(results, tmp_path)
    text = made["docs/performance/gpus.md"]
    for expected in (
        "mm 16x32 32x16 f16",
        "permute 8x16",
        "linear_w4 1x64 128x32",
        "| squeezenet1_1 | 1 | f32 |",
        "| tiny | q4_0 | prefill of 16 |",
        "| tiny | q4_0 | decode at 256 |",
        "no PyTorch",
        "llama.cpp by cyllama",
    ):
        assert expected in text, text
    assert "tiny-q4_0 decode 256" in made["docs/performance/gpus-a-peers.svg"]
    assert "mm 16x32 32x16 f16" in made["docs/performance/gpus-a.svg"]


def test_peers_are_compared(results: dict[str, Any], tmp_path: Path) -> None:
    calls = {
        call["id"]: 2 * results["call_times"][call["id"]]["seconds"] for call in results["calls"]
    }
    networks = {name: 3 * each["gpu_seconds"] for name, each in results["networks"].items()}
    language = json.loads(json.dumps(results["language"]))
    for each in language.values():
        each["llama_cpp"]["decode"] = {k: v / 4 for k, v in each["spirloom"]["decode"].items()}
    torch = {"version": "2", "calls": calls, "networks": networks}
    page = page_of({**results, "torch": torch, "language": language}, tmp_path)
    rows = [line.strip("| ").split(" | ") for line in page.splitlines()]
    names = {label(call) for call in results["calls"]}
    assert [row[5] for row in rows if row[0] in names] == ["2.00×"] * len(calls)
    assert [row[7] for row in rows if row[:2] == ["squeezenet1_1", "1"]][:1] == ["3.00×"]
    decode = [row for row in rows if row[0] == "tiny" and row[2].startswith("decode")]
    assert [row[5] for row in decode] == ["4.00×", "4.00×"]


def test_pages_have_several_gpus_or_none(results: dict[str, Any], tmp_path: Path) -> None:
    assert "No results are stored." in files({})["docs/performance/gpus.md"]
    other = {**results, "peaks": {**results["peaks"], "device": "Other GPU"}}
    text = files({"a": results, "b": other})["docs/performance/gpus.md"]
    assert text.count("### Device peaks") == 2
    assert "## Other GPU" in text and "(gpus-b-peers.svg)" in text


def test_the_readme_has_the_newest_figures(results: dict[str, Any]) -> None:
    text = f"before\n{BEGIN}old\n{END}after\n"
    assert updated(text, {}) == text
    name = "mobilenet_v2-1-f32"
    timed = {name: {"seconds": 0.003, "gpu_seconds": 0.002, "dispatches": 1}}
    torch = {"networks": {name: 0.001}}
    newest = {**results, "date": "2999-01-01", "networks": timed, "torch": torch}
    found = updated(text, {"a": results, "b": newest})
    assert found.startswith(f"before\n{BEGIN}") and found.endswith(f"{END}after\n")
    assert "old" not in found and "2999-01-01" in found
    assert "Slower than PyTorch: mobilenet_v2 f32 0.50×." in found
    chart = draw({**newest, "language": {}})
    assert ">0.50 × slower<" in chart
    (line,) = re.findall(r'<line x1="([\d.]+)"', chart)
    (bar,) = re.findall(r'<rect x="0" y="\d+" width="([\d.]+)" height="\d+" [^>]*opacity', chart)
    assert float(line) == 2 * float(bar), "equal speed is twice as far as half the speed"
    with pytest.raises(ValueError, match="has no lines"):
        updated("without marks", {"a": results})


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
