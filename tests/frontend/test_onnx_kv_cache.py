"""States and KV caches of ONNX models, compared with ONNX's reference evaluator step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from spirloom.cli import main
from spirloom.graph_reader import load
from spirloom.ir import Array, Graph

from tests.frontend.models import model, node, ops, random
from tests.frontend.reference_run import run

MASK = "attention_mask"
HEADS, DEPTH, ROWS = 2, 8, 12
WIDTH = HEADS * DEPTH


def decoder(
    tokens: int = 1, layers: int = 2, more: Sequence[onnx.NodeProto] = ()
) -> onnx.ModelProto:
    """A decoder with `layers` layers of attention over `tokens` new positions and the cache."""
    nodes: list[onnx.NodeProto] = []
    constants: dict[str, Array] = {}
    inputs: dict[str, list[int | str]] = {"x": [1, tokens, WIDTH]}
    outputs = ["y"]
    shape = np.asarray([1, tokens, HEADS, DEPTH])
    constants |= {"heads": shape, "flat": np.asarray([1, tokens, WIDTH])}
    constants["scale"] = np.asarray(DEPTH**-0.5, np.float32)
    last = "x"
    for i in range(layers):
        for kind in "qkv":
            constants[f"w{kind}{i}"] = random(WIDTH, WIDTH, seed=10 * i + ord(kind)) / WIDTH**0.5
            nodes += [
                node("MatMul", f"{last} w{kind}{i}", f"{kind}{i}"),
                node("Reshape", f"{kind}{i} heads", f"{kind}{i}.split"),
                node("Transpose", f"{kind}{i}.split", f"{kind}{i}.rows", perm=[0, 2, 1, 3]),
            ]
        for kind in "kv":
            inputs[f"past_{kind}.{i}"] = [1, HEADS, "past", DEPTH]
            outputs.append(f"present_{kind}.{i}")
            joined = f"past_{kind}.{i} {kind}{i}.rows"
            nodes.append(node("Concat", joined, f"present_{kind}.{i}", axis=2))
        nodes += [
            node("Transpose", f"present_k.{i}", f"keys{i}", perm=[0, 1, 3, 2]),
            node("MatMul", f"q{i}.rows keys{i}", f"products{i}"),
            node("Mul", f"products{i} scale", f"scores{i}"),
            node("Softmax", f"scores{i}", f"parts{i}", axis=-1),
            node("MatMul", f"parts{i} present_v.{i}", f"sum{i}"),
            node("Transpose", f"sum{i}", f"sum{i}.rows", perm=[0, 2, 1, 3]),
            node("Reshape", f"sum{i}.rows flat", f"y{i}.flat"),
            node("Add", f"{last} y{i}.flat", "y" if i == layers - 1 else f"y{i}"),
        ]
        last = f"y{i}"
    return model([*nodes, *more], inputs, constants, outputs)


def masked(tokens: int) -> onnx.ModelProto:
    """A decoder with the attention mask of transformers: 1 for each visible position."""
    made = decoder(tokens)
    mask = onnx.helper.make_tensor_value_info(MASK, onnx.TensorProto.INT64, [1, "total"])
    made.graph.input.append(mask)
    constants = {"one": np.float32(1), "low": np.finfo(np.float32).min, "axes": np.asarray([1, 2])}
    for name, value in constants.items():
        made.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
    nodes = [
        node("Cast", MASK, "seen", to=onnx.TensorProto.FLOAT),
        node("Sub", "one seen", "hidden"),
        node("Mul", "hidden low", "lowered"),
        node("Unsqueeze", "lowered axes", "mask"),
    ]
    for each in made.graph.node:
        if each.op_type == "Softmax":
            nodes.append(node("Add", f"{each.input[0]} mask", f"{each.input[0]}.masked"))
            each.input[0] += ".masked"
        nodes.append(each)
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


def window() -> onnx.ModelProto:
    """A convolution over the last three steps of a signal, two of which come from the cache."""
    return model(
        [
            node("Concat", "cache x", "joined", axis=2),
            node("Conv", "joined w", "y"),
            node("Slice", "joined from to axes", "next"),
        ],
        {"x": [1, 3, 1], "cache": [1, 3, 2]},
        {"w": random(4, 3, 3), "from": np.asarray([-2]), "to": np.asarray([99]),
         "axes": np.asarray([2])},
        ["y", "next"],
    )  # fmt: skip


def imported(made: onnx.ModelProto, folder: Path, *options: str) -> Graph:
    path = folder / "net.onnx"
    path.write_bytes(made.SerializeToString())
    assert main(["import", str(path), "-o", str(folder / "net.slg"), *options]) == 0
    return load(folder / "net.slg")


def steps(made: onnx.ModelProto, pairs: Mapping[str, str], first: Mapping[str, Array],
          given: Sequence[Array]) -> list[Array]:  # fmt: skip
    """The results of ONNX's evaluator for consecutive inputs x."""
    reference = pytest.importorskip("onnx.reference")
    evaluator = reference.ReferenceEvaluator(made)
    names = [info.name for info in made.graph.output]
    has_mask = MASK in {info.name for info in made.graph.input}
    states, results = dict(first), []
    for i, x in enumerate(given, 1):
        mask = {MASK: np.ones((1, i * x.shape[1]), np.int64)} if has_mask else {}
        found = dict(zip(names, evaluator.run(None, {"x": x, **states, **mask}), strict=True))
        states = {before: found[after] for before, after in pairs.items()}
        results.append(found["y"])
    return results


def check(graph: Graph, given: Sequence[Array], wanted: Sequence[Array]) -> dict[str, Array]:
    states: dict[str, Array] = {}
    for x, y in zip(given, wanted, strict=True):
        (ours,) = run(graph, {"x": x}, states).values()
        np.testing.assert_allclose(ours, y, rtol=1e-5, atol=1e-5)
    return states


@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize("tokens", [1, 3])
def test_growing_caches_are_preallocated(tokens: int, has_mask: bool, tmp_path: Path) -> None:
    """A constant mask that masks no position is removed."""
    made = masked(tokens) if has_mask else decoder(tokens)
    np.save(tmp_path / "seen.npy", np.ones((1, 1), np.int64))
    options = ["--constant-input", f"{MASK}={tmp_path / 'seen.npy'}"] if has_mask else []
    options += ["--state", "past_*=present_*", "--dim", f"past=1..{ROWS}"]
    graph = imported(made, tmp_path, *options)
    assert ops(graph).count("spirloom.cache_update") == 4
    assert ops(graph).count("spirloom.cached_attention") == 2
    assert "aten.cat" not in ops(graph) and not graph.symbols
    assert [t.name for t in (*graph.inputs, *graph.outputs)] == ["x", "y"]
    sizes = {state.tensor.name: state.tensor.shape for state in graph.states}
    assert sizes.pop("past") == (1,)
    assert sizes == {f"past_{k}.{i}": (1, HEADS, ROWS, DEPTH) for i in (0, 1) for k in "kv"}
    given = [random(1, tokens, WIDTH, seed=i) for i in range(ROWS // tokens)]
    pairs = {name: name.replace("past", "present") for name in sizes}
    empty = {name: np.zeros((1, HEADS, 0, DEPTH), np.float32) for name in sizes}
    states = check(graph, given, steps(made, pairs, empty, given))
    assert states["past"].tolist() == [ROWS]


def test_states_of_fixed_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = window()
    graph = imported(made, tmp_path, "--state", "cache=next")
    printed = capsys.readouterr().out
    assert "state cache: f32[1, 3, 2], next value 'next'" in printed
    given = [random(1, 3, 1, seed=i) for i in range(5)]
    first = {"cache": np.zeros((1, 3, 2), np.float32)}
    check(graph, given, steps(made, {"cache": "next"}, first, given))


def refusal(made: onnx.ModelProto, folder: Path, capsys: pytest.CaptureFixture[str],
            *options: str) -> str:  # fmt: skip
    path = folder / "net.onnx"
    path.write_bytes(made.SerializeToString())
    assert main(["import", str(path), "-o", str(folder / "net.slg"), *options]) == 1
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("past", "--state must be IN=OUT, with a * in both or none, not 'past'"),
        ("past_*=present", "--state must be IN=OUT, with a * in both or none"),
        ("z=y", "--state z=y matches no input. The inputs are: x, past_k.0, past_v.0."),
        ("past_*=now_*", "'now_k.0', the next value of 'past_k.0', is not an output"),
        ("past_?.0=y", "matches no input"),
    ],
)
def test_unknown_names(
    state: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = decoder(layers=1)
    assert message in refusal(made, tmp_path, capsys, "--state", state, "--dim", "past=4")


def test_caches_that_cannot_be_preallocated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = ("--state", "past_*=present_*")
    message = refusal(decoder(layers=1), tmp_path, capsys, *state, "--dim", "past=4")
    assert "'past_k.0' is f32[1, 2, 4, 8], but 'present_k.0' is f32[1, 2, 5, 8]: a grow" in message
    read = [node("ReduceSum", "present_k.0", "sum", keepdims=0), node("Add", "sum y", "z")]
    other = decoder(layers=1, more=read)
    other.graph.output.append(onnx.helper.make_tensor_value_info("z", 1, None))
    message = refusal(other, tmp_path, capsys, *state, "--dim", "past=1..8")
    assert "not attention, reads 'present_k.0'" in message
    counted = [
        node("Shape", "past_k.0", "sizes"),
        node("Cast", "sizes", "floats", to=1),
        node("ReduceSum", "floats", "sum", keepdims=0),
        node("Add", "sum y", "z"),
    ]
    other = decoder(layers=1, more=counted)
    other.graph.output.append(onnx.helper.make_tensor_value_info("z", 1, None))
    message = refusal(other, tmp_path, capsys, *state, "--dim", "past=1..8")
    assert "The model cannot vary in size" in message or "depends on it" in message


def test_masks_that_may_mask_positions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--state", "past_*=present_*", "--dim", "past=1..8", "--dim", "total=1")
    message = refusal(masked(1), tmp_path, capsys, *options, "--range", f"{MASK}=0..1")
    assert "has a mask. If the mask is an input that masks no position, replace it" in message
    assert "--constant-input MASK=FILE.npy" in message


def test_keys_without_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The values are inputs of each run."""
    options = ("--state", "past_k.0=present_k.0", "--dim", "past=1..8")
    message = refusal(decoder(layers=1), tmp_path, capsys, *options)
    assert "are not two equal caches" in message


def test_states_are_only_for_onnx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text("{}")
    options = ["-o", str(tmp_path / "net.slg"), "--state", "a=b"]
    assert main(["import", str(tmp_path), *options]) == 1
    assert "--state is for ONNX models" in capsys.readouterr().err
