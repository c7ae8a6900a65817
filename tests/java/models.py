"""Models and expected results of the Java tests, as files: graph files, and arrays as raw bytes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
from spirloom import graph_file, graph_reader
from spirloom.cli import main
from spirloom.ir import DType, Graph, IntInput, Node, State, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.sizes import SizeExpr, Symbol, Varying

from examples.story.generate import MODEL, read_tokenizer
from tests.llm.model_directory import write_model_directory
from tests.python_runtime.test_story import BEGINNING, Network

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = OpLibrary()
ASSET_OFFSET = 52  # bytes before the model in assets.bin; alignment of Android packages: 4
PROMPTS = ("hello world", "the quick brown fox")
NEW_TOKENS = 12


def write_models(directory: Path, llm: Path) -> None:
    """Writes all files; `llm` is the program spirloom-llm."""
    write_digits(directory)
    _write_story(directory)
    _write_batch(directory)
    _write_counted(directory)
    graph_file.save([_method("up", 1), _method("down", -1)], directory / "methods.slg")
    graph_file.save(_states(), directory / "states.slg")
    _write_dtypes(directory)
    _write_halves(directory)
    _write_language_model(directory, llm)


def write_digits(directory: Path) -> None:
    """The digits network with a batch of any size, held-out images and PyTorch's logits."""
    example = ROOT / "examples/digits"
    path = directory / "digits.slg"
    arguments = [str(example / "digits.onnx"), "-o", str(path), "--dim", "batch=1..16"]
    assert main(["import", *arguments]) == 0
    images = np.load(example / "images.npy").astype(np.float32) / np.float32(16)
    images.tofile(directory / "images.bin")
    np.load(example / "logits.npy").astype(np.float32).tofile(directory / "logits.bin")
    padding = bytes(ASSET_OFFSET)
    (directory / "assets.bin").write_bytes(padding + path.read_bytes() + padding)


def _write_story(directory: Path) -> None:
    """The language model of examples/story, and logits of a NumPy implementation."""
    tokens = read_tokenizer().encode(BEGINNING)
    methods = graph_reader.load_methods(MODEL)
    np.array(tokens, np.int64).tofile(directory / "story_tokens.bin")
    Network(methods[0]).logits(tokens).astype(np.float32).tofile(directory / "story_logits.bin")
    (directory / "story.slg").write_bytes(MODEL.read_bytes())


def _write_batch(directory: Path) -> None:
    """y = relu(x), float32[batch, 3] with batch from 1 to 8."""
    rows = Varying(8, SizeExpr(((1, ("batch",)),)))
    x, y = (Tensor(name, DType.F32, (rows, 3)) for name in "xy")
    graph = Graph([x], [y], [Node("aten.relu", (x,), (y,), "relu")])
    graph.symbols = (Symbol("batch", 1, 8),)
    graph_file.save(graph, directory / "batch.slg")


def _write_counted(directory: Path) -> None:
    """y = relu(x[:count]) for float32[4, 3], with an integer input `count` from 0 to 4."""
    count = Varying(4, SizeExpr(((1, ("count",)),)))
    x, part, y = (Tensor("x", DType.F32, (4, 3)), *(Tensor(n, DType.F32, (count, 3)) for n in "py"))
    args = LIBRARY.complete("aten.slice.Tensor", {"x": x, "end": count})
    nodes = [Node("aten.slice.Tensor", args, (part,)), Node("aten.relu", (part,), (y,), "relu")]
    graph = Graph([x], [y], nodes)
    graph.symbols = (Symbol("count", 0, 4),)
    graph.int_inputs = [IntInput("count", "count", 1)]
    graph_file.save(graph, directory / "counted.slg")


def _method(name: str, alpha: float) -> Graph:
    """total += alpha * step * x; y = total."""
    step = constant("step", np.array([1, 10, 100], np.float32))
    x, total, y = (Tensor(name, DType.F32, (3,)) for name in ("x", "total", "y"))
    scaled = Tensor("scaled", DType.F32, (3,))
    by = LIBRARY.complete("aten.mul.Tensor", {"a": x, "b": step})
    add = LIBRARY.complete("aten.add.Tensor", {"a": total, "b": scaled, "alpha": alpha})
    nodes = [Node("aten.mul.Tensor", by, (scaled,)), Node("aten.add.Tensor", add, (y,))]
    graph = Graph([x], [y], nodes, name=name)
    graph.states = [State(total, y)]
    return graph


def _states() -> Graph:
    """total += x, initially [1, 2, 3]; y = total. `kept` is not updated."""
    x, total, y = (Tensor(name, DType.F32, (3,)) for name in ("x", "total", "y"))
    kept = Tensor("kept", DType.I32, (2, 2))
    args = LIBRARY.complete("aten.add.Tensor", {"a": total, "b": x})
    graph = Graph([x], [y], [Node("aten.add.Tensor", args, (y,), "sum")])
    start = np.array([1, 2, 3], np.float32)
    graph.states = [State(total, y, start), State(kept, kept)]
    return graph


def _write_dtypes(directory: Path) -> None:
    """`dtype_NAME.slg` returns its input unchanged: y = flip(x) along no dimension."""
    for dtype in (DType.F32, DType.F16, DType.I32, DType.I8, DType.U8, DType.B8):
        x, y = (Tensor(name, dtype, (2, 3)) for name in "xy")
        node = Node("aten.flip", LIBRARY.complete("aten.flip", {"x": x, "dims": []}), (y,))
        graph_file.save(Graph([x], [y], [node]), directory / f"dtype_{dtype.value}.slg")


def _write_halves(directory: Path) -> None:
    """NumPy's conversions: all float16 to float32, and float32 (with ties) to float16."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    bits.view(np.float16).astype(np.float32).tofile(directory / "halves_as_floats.bin")
    generator = np.random.default_rng(7)
    finite = bits.view(np.float16)[np.isfinite(bits.view(np.float16))].astype(np.float32)
    ties = (finite + np.roll(finite, 1)) / 2
    any_bits = generator.integers(0, 1 << 32, 50_000, np.uint32).view(np.float32)
    values = np.concatenate([finite, ties, any_bits[~np.isnan(any_bits)]]).astype(np.float32)
    values.tofile(directory / "floats.bin")
    with np.errstate(over="ignore"):
        values.astype(np.float16).tofile(directory / "floats_as_halves.bin")


def _write_language_model(directory: Path, llm: Path) -> None:
    """A model with random weights and a chat format, and replies of spirloom-llm."""
    write_model_directory(directory / "tiny", "llama3", 96)
    path = directory / "tiny.slg"
    assert main(["import", str(directory / "tiny"), "-o", str(path), "--max-prefill", "8"]) == 0
    for i, prompt in enumerate(PROMPTS):
        for mode in ((), ("--chat",)):
            command = [str(llm), str(path), "--prompt", prompt, "--tokens", str(NEW_TOKENS)]
            done = subprocess.run([*command, "--json", *mode], capture_output=True, check=True)
            text = json.loads(done.stdout)["text"]
            name = f"reply_{i}{'_chat' if mode else ''}.txt"
            (directory / name).write_text(text, encoding="utf-8")
