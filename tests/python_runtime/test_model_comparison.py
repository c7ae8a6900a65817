"""spirloom compare MODEL --with ORACLE: planted faults of kernels and passes are found, by node.

The oracles are ONNX Runtime, PyTorch, and the references of the operators.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
from spirloom import graph_file, graph_reader
from spirloom.cli import main
from spirloom.commands import compare_model
from spirloom.debug import device_values
from spirloom.debug.device_values import DeviceOptions, chunks_of
from spirloom.debug.inputs import complete_inputs
from spirloom.debug.metrics import measure
from spirloom.debug.model_comparison import Comparer
from spirloom.debug.oracles import Oracle
from spirloom.ir import DType, Graph, Node, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.passes import OPTIMIZATIONS
from spirloom.sizes import SizeExpr, Symbol, Varying

from tests.python_runtime.debug_models import write_layer_norm_model
from tests.python_runtime.faulty_library import SHADERC, write_faulty_library

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library whose layer_norm is wrong."""
    if not Path(SHADERC).exists():
        pytest.skip("The shader compiler is not built.")
    return write_faulty_library(tmp_path_factory.mktemp("faulty") / "faulty.slpack")


@pytest.fixture
def model(runtime: spirloom.Runtime, tmp_path: Path) -> Path:
    """An ONNX model: linear layer with relu, layer norm, linear layer."""
    del runtime
    return write_layer_norm_model(tmp_path / "net.onnx")


def compared(capsys: Capture, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of the command."""
    code = main(["compare", *map(str, arguments), "--random", "--json"])
    return code, json.loads(capsys.readouterr().out)


def wrong_ops(found: dict[str, Any]) -> list[str]:
    return [row["op"] for row in found["rows"] if row.get("wrong")]


def test_measure_floats() -> None:
    expected = np.linspace(-1, 1, 1000, dtype=np.float32)
    assert not measure(expected, expected, 1e-4, False).wrong
    assert not measure(expected * np.float32(1 + 5e-5), expected, 1e-4, False).wrong
    assert measure(expected * np.float32(1 + 5e-4), expected, 1e-4, False).wrong
    one = expected.copy()
    one[7] += 0.1  # a single element: the norm alone would allow it at 1e-2
    assert measure(one, expected, 1e-2, False).relative < 1e-2
    found = measure(one, expected, 1e-3, False)
    assert found.wrong and found.at == (7,)


def test_measure_special_values() -> None:
    expected = np.array([1, np.inf, np.nan, 0], np.float32)
    assert not measure(expected, expected, 1e-4, False).wrong
    found = measure(np.array([1, 2, 3, np.nan], np.float32), expected, 1e-4, False)
    assert (found.wrong, found.nan, found.inf) == (True, 2, 1)
    zeros = np.zeros(4, np.float32)
    assert not measure(np.full(4, 1e-8, np.float32), zeros, 1e-4, False).wrong
    assert measure(np.full(4, 1e-3, np.float32), zeros, 1e-4, False).wrong
    assert not measure(np.empty((0, 3), np.float32), np.empty((0, 3)), 1e-4, False).wrong


def test_measure_integers() -> None:
    expected = np.arange(1000, dtype=np.int32)
    few = expected.copy()
    few[:5] += 1
    assert measure(few, expected, 0, accumulated=False).wrong
    assert not measure(few, expected, 0, accumulated=True).wrong
    assert measure(expected + 1, expected, 0, accumulated=True).wrong


@pytest.mark.parametrize("oracle", ["reference", "cpu-kernels"])
@pytest.mark.parametrize("options", [(), ("--fp16",), ("--storage", "texture3d")])
def test_a_right_model(model: Path, capsys: Capture, oracle: str, options: Sequence[str]) -> None:
    if oracle == "cpu-kernels" and all(d.type != "cpu" for d in spirloom.devices()):
        pytest.skip("No Vulkan device on the CPU.")
    code, found = compared(capsys, model, "--with", oracle, "--layers", *options)
    assert code == 0 and found["first_wrong"] is None
    assert len(found["rows"]) >= 3 and all("relative" in row for row in found["rows"])
    norm = next(row for row in found["rows"] if row["op"] == "aten.native_layer_norm")
    assert norm["kernels"] and norm["shape"] == [4, 24]


def test_the_reference_names_the_wrong_kernel(model: Path, faulty: Path, capsys: Capture) -> None:
    options = ("--with", "reference", "--layers", "--override", faulty)
    code, found = compared(capsys, model, *options)
    assert code == 1 and wrong_ops(found) == ["aten.native_layer_norm"]
    assert main(["compare", str(model), *map(str, options), "--random"]) == 1
    text = capsys.readouterr().out
    assert text.count("WRONG") == 1
    assert "1 above the tolerance.\nFirst wrong: node 1, aten.native_layer_norm (norm)" in text
    code, found = compared(capsys, model, *options, "--tolerance", "0.5")
    assert code == 0


def test_onnxruntime_finds_the_first_wrong_node(model: Path, faulty: Path, capsys: Capture) -> None:
    pytest.importorskip("onnxruntime")
    options = (model, "--with", "onnxruntime", "--layers")
    code, found = compared(capsys, *options)
    assert code == 0 and found["cause"] is None
    assert found["unmatched"] == ["hidden"]  # without its relu, which was fused
    code, found = compared(capsys, *options, "--override", faulty)
    assert code == 1 and found["cause"]["op"] == "aten.native_layer_norm"
    # All values after the wrong one are wrong, and none before.
    judged = [row["wrong"] for row in found["rows"] if "wrong" in row]
    assert judged == sorted(judged) and not judged[0]


def test_a_wrong_pass(model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")

    def negate_biases(graph: Graph, library: OpLibrary) -> None:
        for node in graph.nodes:
            if node.name == "second":
                node.args = library.with_args(node, bias=_negated(library.arg(node, "bias")))

    monkeypatch.setitem(OPTIMIZATIONS, "fold-copies", negate_biases)
    assert main(["compare", str(model), "--with", "onnxruntime", "--layers", "--random"]) == 1
    text = capsys.readouterr().out
    assert "(second)" in text and "so the import or a pass is wrong" in text


def _negated(bias: object) -> Tensor:
    assert isinstance(bias, Tensor) and bias.data is not None
    return constant(bias.name, -bias.data)


def test_torch(runtime: spirloom.Runtime, tmp_path: Path, capsys: Capture) -> None:
    del runtime
    torch: Any = pytest.importorskip("torch", minversion="2.9")

    class Network(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 8, 3)
            self.register_buffer("scale", torch.tensor(0.5))

        def forward(self, x: Any, ids: Any) -> Any:
            y = torch.relu(self.conv(x) * self.scale)
            return y.flatten(1)[:, ids]

    x, ids = torch.randn(1, 3, 8, 8), torch.arange(5)
    path = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(Network().eval(), (x, ids)), path)
    code, found = compared(capsys, path, "--with", "torch", "--layers")
    assert code == 0
    assert any(row["source"].startswith("python_runtime/test_model") for row in found["rows"])
    assert all("relative" in row for row in found["rows"] if row["output"])


def test_chunks_have_the_same_values(runtime: spirloom.Runtime, model: Path) -> None:
    from spirloom.onnx.importer import import_model
    from spirloom.onnx.inputs import Shapes

    graph = import_model(model, OpLibrary(), Shapes({}))
    inputs = complete_inputs(graph, {}, 0)
    whole, *others = chunks_of(runtime, graph, inputs, DeviceOptions())
    assert not others
    parts = list(chunks_of(runtime, graph, inputs, DeviceOptions(chunk_bytes=1)))
    assert len(parts) == len(graph.nodes)
    for part in parts:
        (node,) = part.nodes
        for tensor in node.outputs:
            np.testing.assert_array_equal(part.values[tensor], whole.values[tensor])


def test_dynamic_sizes_and_states(
    runtime: spirloom.Runtime, tmp_path: Path, capsys: Capture
) -> None:
    del runtime
    from spirloom.ir import State

    rows = Varying(64, SizeExpr(((1, ("rows",)),)))
    x, y = (Tensor(name, DType.F32, (rows, 3)) for name in "xy")
    total, new = (Tensor(name, DType.F32, (3,)) for name in ("total", "new"))
    nodes = [
        Node("aten.mul.Tensor", (x, total), (y,), "scale"),
        Node("aten.neg", (total,), (new,), "next"),
    ]
    graph = Graph([x], [y], nodes, states=[State(total, new, np.ones(3, np.float32))])
    graph.symbols = (Symbol("rows", 1, 64),)
    graph_file.save(graph, tmp_path / "g.slg")
    assert graph_reader.load(tmp_path / "g.slg").symbols
    np.save(tmp_path / "total.npy", np.array([1, 2, 3], np.float32))
    options = ("--with", "reference", "--layers", "--input", f"total={tmp_path / 'total.npy'}")
    code, found = compared(capsys, tmp_path / "g.slg", *options, "--size", "rows=5")
    assert code == 0
    assert [row["shape"] for row in found["rows"]] == [[5, 3], [3]]
    _, found = compared(capsys, tmp_path / "g.slg", *options)
    assert found["rows"][0]["shape"] == [16, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--with", "torch"), "--with torch is for archives of torch.export.save"),
        ((), "Expected two graph files, or one model and what to compare it with: --with "),
        (("b.slg", "--with", "reference"), "--with is for one model."),
        (("--with", "reference", "--size", "n=3"), ""),
        (("--with", "reference", "--method", "f"), "--method is for ExecuTorch programs"),
        (("--with", "reference", "--input", "z=1"), "There is no input 'z'."),
        (("--with", "reference", "--input", "x=[1,2]"), "shape [2]; expected [4, 16]."),
    ],
)
def test_messages(model: Path, capsys: Capture, arguments: Sequence[str], message: str) -> None:
    code = main(["compare", str(model), *arguments, "--random"])
    assert code == (1 if message else 0)
    assert message in capsys.readouterr().err


def test_transformers(
    runtime: spirloom.Runtime,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hidden states and logits of a language model directory, then with a planted fault."""
    del runtime
    torch: Any = pytest.importorskip("torch", minversion="2.9")
    transformers: Any = pytest.importorskip("transformers", minversion="5")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=130, max_position_embeddings=32,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "model")
    options = ("--with", "torch", "--layers", "--method", "prefill", "--size", "tokens=6")
    code, found = compared(capsys, tmp_path / "model", *options)
    assert code == 0
    judged = [row["tensor"] for row in found["rows"] if "relative" in row]
    assert "logits" in judged and "embedding" in judged
    for layer in (0, 1):
        for name in ("self_attn", "self_attn.o_proj", "mlp.act", "mlp.down_proj"):
            assert f"model.layers.{layer}.{name}" in judged
    code = main(["compare", str(tmp_path / "model"), "--with", "torch", "--method", "decode"])
    assert code == 1 and "--method prefill" in capsys.readouterr().err
    read = compare_model.read_graph

    def wrong(*arguments: Any) -> Graph:
        graph = read(*arguments)
        (norm,) = (n for n in graph.nodes if n.name == "model.layers.1.input_layernorm")
        norm.args = OpLibrary().with_args(norm, eps=0.5)
        return graph

    monkeypatch.setattr(compare_model, "read_graph", wrong)
    code, found = compared(capsys, tmp_path / "model", *options)
    assert code == 1 and found["first_wrong"] == "model.layers.1.input_layernorm"
    assert found["cause"]["node"] is None  # the kernels are right


def test_outputs_alone_leave_the_graph_as_it_is(model: Path) -> None:
    """Without --layers, no intermediate tensor becomes an output."""
    if all(device.type != "cpu" for device in spirloom.devices()):
        pytest.skip("No Vulkan device on the CPU.")
    from spirloom.onnx.importer import import_model
    from spirloom.onnx.inputs import Shapes

    graph = import_model(model, OpLibrary(), Shapes({}))
    kept: list[list[Tensor]] = []

    def tapped(graph: Graph, tensors: Sequence[Tensor], last: Node) -> Graph:
        kept.append(list(tensors))
        return tap(graph, tensors, last)

    tap = device_values.tapped_graph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_values, "tapped_graph", tapped)
        comparer = Comparer(graph, complete_inputs(graph, {}, 0), OpLibrary(), DeviceOptions())
        for oracle in (Oracle.CPU_KERNELS, Oracle.REFERENCE):
            comparer.compare(oracle, model, layers=False)
    *with_kernels, with_references = kept
    assert with_kernels == [graph.outputs, graph.outputs]
    assert set(with_references) > set(graph.outputs)
