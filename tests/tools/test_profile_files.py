"""Profile files: recording and accumulating runs, tables, comparison, traces, damaged files."""

from __future__ import annotations

import copy
import csv
import io
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spirloom import cli, graph_file
from spirloom.errors import ImportFailure
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.op_library import OpLibrary
from spirloom.profile_file import percentile, read_profile
from spirloom.profiling import tables

from benchmarks.work import multiply_adds
from tests.tools.programs import AddModel, Program

M, K, N = 32, 64, 32


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = sigmoid(relu(a @ b)) @ c, with constants b: [64, 32] and c: [32, 64]."""
    a, y = (Tensor(name, DType.F32, (M, K)) for name in "ay")
    b, c = (
        Tensor(name, DType.F32, shape, np.full(shape, 0.1, np.float32))
        for name, shape in (("b", (K, N)), ("c", (N, K)))
    )
    p, q, r = (Tensor(name, DType.F32, (M, N)) for name in "pqr")
    nodes = [
        Node("aten.mm", (a, b), (p,), "first"),
        Node("aten.relu", (p,), (q,), "relu"),
        Node("aten.sigmoid", (q,), (r,), "sigmoid"),
        Node("aten.mm", (r, c), (y,), "second"),
    ]
    path = tmp_path_factory.mktemp("profile") / "products.slg"
    graph_file.save(Graph([a], [y], nodes), path)
    return path


@pytest.fixture(scope="module")
def recorded(model: Path, spirloom_run: Program) -> Path:
    """A profile of 3 runs, to which another process added 2. The kernel packs no operands."""
    path = model.parent / "products.slprof"
    for repeat in ("3", "2"):
        record(spirloom_run, model, path, "--repeat", repeat, "--kernel", "mm")
    return path


def record(spirloom_run: Program, model: Path, path: Path, *options: str) -> None:
    done = spirloom_run(model, "--random", "--profile-out", path, *options)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def changed(recorded: Path, tmp_path: Path) -> Callable[[Callable[[dict[str, Any]], None]], Path]:
    """Writes the recorded profile with a change."""

    def write(change: Callable[[dict[str, Any]], None]) -> Path:
        members = json.loads(recorded.read_text())
        change(members)
        path = tmp_path / "changed.slprof"
        path.write_text(json.dumps(members))
        return path

    return write


def test_runs_accumulate(recorded: Path) -> None:
    profile = read_profile(recorded)
    assert profile.runs == 5
    assert [each.node for each in profile.dispatches] == ["first", "relu", "sigmoid", "second"]
    for dispatch in profile.dispatches:
        assert len(dispatch.times) == 5
    assert len(profile.gpu_ns) == len(profile.host_ns) == 5
    assert all(gpu <= host for gpu, host in zip(profile.gpu_ns, profile.host_ns, strict=True))


def test_without_repeat_it_is_one_run(model: Path, spirloom_run: Program, tmp_path: Path) -> None:
    record(spirloom_run, model, tmp_path / "once.slprof")
    assert read_profile(tmp_path / "once.slprof").runs == 1


def test_another_model_is_not_added(
    recorded: Path, add_model: AddModel, spirloom_run: Program
) -> None:
    before = recorded.read_bytes()
    done = spirloom_run(*add_model.good, "--profile-out", recorded)
    assert done.returncode == 2
    assert "another model, device or plan: its 'model' differs" in done.stderr
    assert recorded.read_bytes() == before


def test_another_file_is_not_replaced(model: Path, spirloom_run: Program, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for text in ("remember", "{}", '{"format": "spirloom-profile"}'):
        path.write_text(text)
        done = spirloom_run(model, "--random", "--profile-out", path)
        assert done.returncode == 2, done.stderr
        assert path.read_text() == text


def test_bytes_and_operations(recorded: Path) -> None:
    """Counted by hand: each tensor once, two operations per multiply-add."""
    first, relu, _, second = read_profile(recorded).dispatches
    assert (first.bytes_read, first.bytes_written) == (4 * (M * K + K * N), 4 * M * N)
    assert first.operations == 2 * M * K * N == second.operations
    assert (relu.bytes_read, relu.bytes_written, relu.operations) == (4 * M * N, 4 * M * N, M * N)


def test_operations_of_a_convolution(spirloom_run: Program, tmp_path: Path) -> None:
    x = Tensor("x", DType.F32, (1, 6, 9, 9))
    w = Tensor("w", DType.F32, (4, 3, 3, 3), np.ones((4, 3, 3, 3), np.float32))
    y = Tensor("y", DType.F32, (1, 4, 7, 7))
    given = {"x": x, "weight": w, "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1),
             "transposed": False, "output_padding": (0, 0), "groups": 2}  # fmt: skip
    schema = OpLibrary().args("aten.convolution")
    values: Any = tuple(given.get(arg.name, arg.default) for arg in schema)
    node = Node("aten.convolution", values, (y,), "conv")
    graph_file.save(Graph([x], [y], [node]), tmp_path / "conv.slg")
    record(spirloom_run, tmp_path / "conv.slg", tmp_path / "conv.slprof")
    profile = read_profile(tmp_path / "conv.slprof")
    assert sum(each.operations for each in profile.dispatches) == 2 * (4 * 7 * 7) * (3 * 3 * 3)


LAYERS: dict[str, dict[str, tuple[int, ...]]] = {
    "aten.mm": {"a": (6, 8), "b": (8, 4)},
    "aten.bmm": {"a": (2, 6, 8), "b": (2, 8, 4)},
    "aten.matmul": {"a": (2, 3, 6, 8), "b": (8, 4)},
    "aten.addmm": {"c": (4,), "a": (6, 8), "b": (8, 4)},
    "aten.linear": {"x": (5, 8), "weight": (4, 8), "bias": (4,)},
    "aten.conv1d": {"x": (1, 6, 9), "weight": (4, 6, 3)},
    "aten.conv_transpose1d": {"x": (1, 6, 9), "weight": (6, 4, 3)},
    "aten.conv_transpose2d.input": {"x": (1, 6, 9, 9), "weight": (6, 4, 3, 3)},
    "aten.scaled_dot_product_attention":
        {"query": (1, 2, 6, 8), "key": (1, 2, 5, 8), "value": (1, 2, 5, 8)},
}  # fmt: skip


def test_operations_are_those_of_the_benchmarks(spirloom_run: Program, tmp_path: Path) -> None:
    """The estimate of profiles is the one of benchmarks/work.py: two per multiply-add."""
    library = OpLibrary()
    graph, expected = Graph([], []), {}
    for op, shapes in LAYERS.items():
        given = {name: Tensor(f"{op}.{name}", DType.F32, shape) for name, shape in shapes.items()}
        values = library.complete(op, given)
        ((shape, dtype),) = library.infer(op, values)
        y = Tensor(f"{op}.y", dtype, shape)
        node = Node(op, values, (y,), op)
        graph.inputs += given.values()
        graph.outputs.append(y)
        graph.nodes.append(node)
        args = dict(zip(library.arg_names(op), values, strict=True))
        expected[op] = 2 * multiply_adds(node, args)
    graph_file.save(graph, tmp_path / "layers.slg")
    record(spirloom_run, tmp_path / "layers.slg", tmp_path / "layers.slprof")
    found = dict.fromkeys(LAYERS, 0.0)
    for each in read_profile(tmp_path / "layers.slprof").dispatches:
        if each.op == each.node:  # not a packing or a copy that the node requires
            found[each.op] += each.operations
    assert found == expected


def test_names_are_shortened_in_the_middle(recorded: Path) -> None:
    assert tables.shortened("first at model.py:3", 40) == "first at model.py:3"
    assert tables.shortened("abcdefghij", 7) == "abc…hij"
    profile = read_profile(recorded)
    long = "a" * 50 + "b" * 50
    changed = replace(profile, dispatches=tuple(replace(d, node=long) for d in profile.dispatches))
    text = tables.to_text(changed, 0, "time")
    assert f"  {'a' * 19}…{'b' * 20}  " in text
    rows = tables.to_text(changed, 0, "time", wide=True).count(long) - text.count(long)
    assert rows == len(profile.dispatches)


def test_the_reason_of_a_kernel(
    recorded: Path, model: Path, spirloom_run: Program, tmp_path: Path
) -> None:
    named, relu = read_profile(recorded).dispatches[:2]
    assert (named.kernel, named.reason) == ("mm", "requested by name")
    assert relu.reason == "the first kernel that supports the call"
    record(spirloom_run, model, tmp_path / "default.slprof")
    for dispatch in read_profile(tmp_path / "default.slprof").dispatches:
        taken = [trial.kernel for trial in dispatch.considered if trial.result == "taken"]
        assert taken == ([dispatch.kernel] if dispatch.considered else [])
        if dispatch.op == "aten.mm":
            assert dispatch.reason.startswith("the first kernel that supports the call")


def test_statistics_equal_numpys() -> None:
    generator = np.random.default_rng(3)
    for count in (1, 2, 5, 20, 101):
        times = [int(each) for each in generator.integers(1, 1000, count)]
        for percent in (10, 50, 90, 100):
            expected = np.percentile(times, percent, method="inverted_cdf")
            assert percentile(times, percent) == expected


def test_the_memory_plan(recorded: Path) -> None:
    """Live ranges follow from the graph; live tensors do not overlap; the peak is the runtime's."""
    profile = read_profile(recorded)
    ranges = {t.name: (t.first, t.last) for t in profile.tensors if t.role == "activation"}
    assert ranges == {"p": (0, 1), "q": (1, 2), "r": (2, 3)}
    blocks = [t for t in profile.tensors if t.block >= 0]
    for a in blocks:
        for b in blocks:
            if a is not b and a.block == b.block and a.first <= b.last and b.first <= a.last:
                assert a.offset + a.allocated <= b.offset or b.offset + b.allocated <= a.offset
    step, peak = tables.peak_step(profile.tensors, len(profile.dispatches))
    assert peak == profile.memory["live_bytes"]
    assert peak == sum(t.allocated for t in tables.live_at(profile.tensors, step))


def test_show(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["profile", "show", str(recorded)]) == 0
    text = capsys.readouterr().out
    assert "runs    5: GPU min" in text
    assert "peak of live activations" in text
    assert cli.main(["profile", "show", str(recorded), "--dispatch", "1"]) == 0
    text = capsys.readouterr().out
    assert "reads       p  f32  32×32  activation, 4.1 kB" in text
    assert "reason      the first kernel that supports the call\n" in text
    assert cli.main(["profile", "show", str(recorded), "--dispatch", "4"]) == 1
    assert "the profile has 4 dispatches" in capsys.readouterr().err


def test_show_statistics_of_the_driver(
    changed: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    def add(members: dict[str, Any]) -> None:
        members["dispatches"][1]["statistics"] = {"Register Count": "24", "Spills": "0"}

    assert cli.main(["profile", "show", str(changed(add)), "--dispatch", "1"]) == 0
    assert "driver      Register Count: 24\ndriver      Spills: 0\n" in capsys.readouterr().out


def test_show_as_json(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["profile", "show", str(recorded), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == 5
    assert sum(row["percent"] for row in found["dispatches"]) == pytest.approx(100)
    row = found["dispatches"][0]
    assert row["min_ms"] <= row["median_ms"] <= row["p90_ms"]


def test_the_roofline(changed: Callable[..., Path]) -> None:
    """With peaks of 1 GB/s and 1 GFLOP/s, the bound of the GEMM is its operations."""

    def peaks(members: dict[str, Any]) -> None:
        members["peaks"] = dict.fromkeys(("read", "write", "copy", "multiply_add"), 1e9)
        members["peaks"]["dispatch_ns"] = 1000.0
        members["samples"]["dispatch_ns"][0] = [4 * 2 * M * K * N] * 5

    profile = read_profile(changed(peaks))
    assert tables.roofline_percent(profile.dispatches[0], profile.peaks) == pytest.approx(25)
    assert "  25" in tables.to_text(profile, 0, "time")


def slower(node: int, factor: float) -> Callable[[dict[str, Any]], None]:
    """A change that makes one dispatch slower, from 1 ms."""

    def change(members: dict[str, Any]) -> None:
        times = members["samples"]["dispatch_ns"]
        for i, own in enumerate(times):
            times[i] = [round(1e6 * (factor if i == node else 1))] * len(own)
        total = sum(own[0] for own in times)
        members["samples"]["gpu_ns"] = [total] * len(times[0])

    return change


def test_diff_fails_for_a_slower_node(
    changed: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = changed(slower(2, 1.0)).rename(tmp_path / "before.slprof")
    after = changed(slower(2, 1.1))
    diff = ["profile", "diff", str(before), str(after)]
    assert cli.main(diff) == 0
    assert "sigmoid  aten.sigmoid" in capsys.readouterr().out
    assert cli.main([*diff, "--fail-above", "5%"]) == 1
    failed = capsys.readouterr()
    assert failed.err == "spirloom: sigmoid is slower by 10.0 %, above 5 %.\n"
    assert cli.main([*diff, "--fail-above", "15"]) == 0
    assert cli.main([*diff, "--fail-above", "5", "--ignore-below", "0.2"]) == 0
    assert cli.main(["profile", "diff", str(after), str(before), "--fail-above", "5%"]) == 0
    capsys.readouterr()
    assert cli.main([*diff, "--fail-above", "2%", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["regressions"] == ["total", "sigmoid"]
    assert found["total"]["percent"] == pytest.approx(2.5)


def test_a_wrong_percentage(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("much", "-1", "nan"):
        with pytest.raises(SystemExit):
            cli.main(["profile", "diff", str(recorded), str(recorded), f"--fail-above={text}"])
        assert f"'{text}' is not a percentage such as 5%" in capsys.readouterr().err


def test_a_trace(recorded: Path, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    assert cli.main(["profile", "export", str(recorded), "--perfetto", str(out)]) == 0
    events = json.loads(out.read_text())["traceEvents"]
    queue = [event for event in events if event.get("cat") == "dispatch"]
    assert [event["name"] for event in queue] == ["first", "relu", "sigmoid", "second"]
    ends = [event["ts"] + event["dur"] for event in queue]
    assert all(a <= b["ts"] + 1e-3 for a, b in zip(ends, queue[1:], strict=False))
    host = [event["name"] for event in events if event.get("cat") == "host"]
    assert host == ["reset states", "copy inputs and submit", "wait and copy outputs"]


def test_csv(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["profile", "export", str(recorded), "--csv", "-"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["node"] for row in rows] == ["first", "relu", "sigmoid", "second"]
    assert rows[0]["bytes_read"] == str(4 * (M * K + K * N))


def test_export_requires_a_format(recorded: Path) -> None:
    with pytest.raises(SystemExit):
        cli.main(["profile", "export", str(recorded)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is not JSON"),
        ("[1]", "is not a profile"),
        ('{"format": "spirloom-profile", "version": 2}', "profile of version 2; this program"),
        ('{"format": "spirloom-profile", "version": 1}', "'samples' is missing. Record it"),
    ],
)
def test_other_files(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.slprof").write_text(text)
    with pytest.raises(ImportFailure, match=message):
        read_profile(tmp_path / "x.slprof")


def test_damaged_files(recorded: Path, tmp_path: Path) -> None:
    """A member replaced by a value of any type is refused, or is harmless in all outputs."""
    generator = random.Random(7)
    members = json.loads(recorded.read_text())
    path = tmp_path / "damaged.slprof"
    refused = 0
    for _ in range(300):
        damaged = copy.deepcopy(members)
        _damage(damaged, generator)
        path.write_text(json.dumps(damaged))
        try:
            profile = read_profile(path)
        except ImportFailure:
            refused += 1
            continue
        tables.to_text(profile, 0, "time")
    assert refused > 100


def _damage(value: Any, generator: random.Random) -> None:
    """Replaces or deletes a random member."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = generator.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and generator.random() < 0.8:
            value = inner
            continue
        replaced: Any = generator.choice([None, -5, 1 << 70, 0.5, "text", [], {}, True, [[1]]])
        if generator.random() < 0.2:
            del value[key]
        else:
            value[key] = replaced
        return
