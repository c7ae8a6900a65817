"""The roofline: recorded calls, their bounds, the resumable bundle, its page and the comparison."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from spirloom.ir import DType, Graph, Node, Tensor, constant
from spirloom.op_library import OpLibrary

from benchmarks.roofline import compare
from benchmarks.roofline.bound import bound, limit, rates_of, work_of
from benchmarks.roofline.bundle import describe, make_bundle
from benchmarks.roofline.by_rule import unreached
from benchmarks.roofline.call import RecordedCall, calls_in, merged, read_calls
from benchmarks.roofline.page import PAGE, files, read_results, rows_of
from benchmarks.roofline.select_calls import Candidate, candidates, chosen

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SPIRLOOM_BUILD", ROOT / "build" / "release"))
OPS = OpLibrary()
RECORDED = read_calls()


def graph() -> Graph:
    """Two equal GEMMs with a residual, and the row that an index selects."""
    x, y = Tensor("x", DType.F16, (4, 64)), Tensor("y", DType.F16, (4, 64))
    index, row = constant("i", np.array([3], np.int32)), Tensor("r", DType.F16, (1, 64))
    weight, z = constant("w", np.zeros((64, 64), np.float16)), Tensor("z", DType.F16, (4, 64))
    linear = [("x", x), ("weight", weight), ("addend", x)]
    nodes = [
        Node("aten.linear", OPS.complete("aten.linear", dict(linear)), (y,)),
        Node("aten.linear", OPS.complete("aten.linear", {**dict(linear), "x": y}), (z,)),
        Node("aten.index_select", OPS.complete(
            "aten.index_select", {"x": z, "dim": 0, "index": index}), (row,)),
    ]  # fmt: skip
    return Graph([x], [row], nodes)


def test_calls_are_recorded_and_rebuilt() -> None:
    calls = merged([*calls_in(graph(), "a", OPS), *calls_in(graph(), "b", OPS)])
    assert [RecordedCall.from_json(call.to_json()) for call in calls] == calls
    counts = {call.op: call.networks for call in calls if len(call.tensors()) == 2}
    assert counts == {"aten.linear": {"a": 1, "b": 1}, "aten.index_select": {"a": 1, "b": 1}}
    for call in calls:
        made = call.graph(OPS)
        (again,) = calls_in(made, "a", OPS)
        assert (again.op, again.tensors()[0]["shape"]) == (call.op, call.tensors()[0]["shape"])
    same = next(call for call in calls if call.op == "aten.linear" and len(call.tensors()) == 2)
    node = same.graph(OPS).nodes[0]
    assert node.args[0] is node.args[OPS.arg_names("aten.linear").index("addend")]
    selected = next(call for call in calls if call.op == "aten.index_select").graph(OPS)
    assert [t.bounds.high for t in selected.inputs if t.bounds is not None] == [3]


def test_caches_are_states_that_the_call_updates() -> None:
    calls = [call for call in RECORDED if call.op == "spirloom.decode_attention"]
    assert calls
    for call in calls:
        made = call.graph(OPS)
        caches = {state.tensor.shape for state in made.states}
        assert len(made.states) == 2 and len(caches) == 1
        assert not caches & {t.shape for t in (*made.inputs, *made.outputs)}
        (rows,) = {shape[1] for shape in caches}
        (position,) = (t for t in made.inputs if t.bounds is not None)
        assert position.bounds is not None and position.bounds.low == rows * 3 // 4


def test_operands_of_one_element_have_the_values_of_test_cases() -> None:
    call = next(call for call in RECORDED if call.op == "spirloom.sample_token")
    made = call.graph(OPS)
    args = dict(zip(OPS.arg_names(call.op), made.nodes[0].args, strict=True))
    top_k, top_p = args["top_k"], args["top_p"]
    assert isinstance(top_k, Tensor) and top_k in made.inputs and top_k.bounds is not None
    assert top_k.bounds.low == top_k.bounds.high
    assert _is_median(top_k.bounds.low, "top_k")
    assert isinstance(top_p, Tensor) and top_p not in made.inputs and top_p.data is not None
    assert _is_median(float(top_p.data[0]), "top_p")


def _is_median(value: float, argument: str) -> bool:
    """Whether it is one of the argument's values other than 0 in the test cases, of which at most
    half are smaller and at most half larger."""
    spec = yaml.safe_load((ROOT / "op_specs/sampling/sample_token.yaml").read_text("utf-8"))
    values = [test[argument]["values"][0] for test in spec["tests"]]
    used = [float(np.float32(v)) for v in values if v != 0]
    smaller, larger = sum(v < value for v in used), sum(v > value for v in used)
    return value in used and max(smaller, larger) <= len(used) / 2


def test_works_are_compulsory() -> None:
    works = [work_of(node, OPS) for node in graph().nodes]
    assert works[0].multiply_adds == 4 * 64 * 64
    assert works[0].bytes == 2 * (4 * 64 + 64 * 64 + 4 * 64)
    assert works[2].bytes == 2 * 64 + 2 * 64 + 4  # of one row


def test_the_largest_bound_applies() -> None:
    rates = {"bytes": 100.0, "f32": 10.0, "f16": 40.0, "dispatch": 1.0}
    call = {"dtype": "f16", "multiply_adds": 100, "bytes": 400}
    assert (bound(call, rates), limit(call, rates)) == (5.0, "arithmetic")
    assert limit({**call, "bytes": 1000}, rates) == "bandwidth"
    assert bound({**call, "bytes": 1, "multiply_adds": 0}, rates) == 1.0


def test_the_recorded_calls_are_valid() -> None:
    """Operators have the recorded arguments; many architectures were recorded in both dtypes."""
    for call in RECORDED:
        call.graph(OPS)
    networks = {name for call in RECORDED for name in call.networks}
    assert len(networks) >= 30
    assert {"f32", "f16"} <= {call.dtype for call in RECORDED}


def test_every_other_operator_has_calls_by_rule() -> None:
    reached = {call.op for call in RECORDED}
    views = {op for op in OPS.names() if OPS.is_view(op)}
    without = {op for op in OPS.names() if op not in reached | views}
    without -= {call.op for call in unreached(reached, OPS)}
    # Copies between storages, and kernels that pack constants at load time.
    assert without <= {"spirloom.copy", "spirloom.pack_stored_floats"}


def test_each_operator_and_kernel_is_chosen() -> None:
    sample = [c for c in RECORDED if c.op in ("aten._softmax", "aten.bmm", "aten.matmul")]
    found = candidates(sample, OPS)
    few = chosen(found, 12)
    assert len(few) == min(12, len(found))
    assert {c.call.op for c in few} == {c.call.op for c in found}
    assert [c.weight for c in few] == sorted((c.weight for c in few), reverse=True)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a few small calls of each family."""
    folder = tmp_path_factory.mktemp("roofline") / "bundle"
    small = [c for c in RECORDED if sum(map(_elements, c.tensors())) < 20_000]
    found = [c for c in candidates(small[::29], OPS) if c.work.multiply_adds < 10**6][:40]
    make_bundle(BUILD, folder, found)
    assert sum(path.stat().st_size for path in (folder / "packs").iterdir()) < 1 << 20
    return folder


def _elements(tensor: dict[str, Any]) -> int:
    return int(np.prod(tensor["shape"]))


def run(bundle: Path, out: Path, *more: str) -> str:
    """The output of run.py in isolated Python."""
    return subprocess.run(
        [sys.executable, "-I", bundle / "run.py", "--out", out, *more],
        capture_output=True, text=True, check=True, cwd="/",
    ).stdout  # fmt: skip


@pytest.fixture(scope="module")
def results(bundle: Path) -> dict[str, Any]:
    """The results of a run that stops at once and one that continues it."""
    out = bundle.with_name("roofline.json")
    assert "incomplete" in run(bundle, out, "--minutes", "0")
    before = json.loads(out.read_text())
    assert before["peaks"] and not before["times"]
    assert "\ncomplete" in run(bundle, out)
    found: dict[str, Any] = json.loads(out.read_text())
    assert found["peaks"] == before["peaks"]
    assert "of" not in run(bundle, out).partition("complete")[0], "a pack is measured again"
    return found


def test_every_call_is_timed(results: dict[str, Any]) -> None:
    assert results["calls"]
    errors = {name: each for name, each in results["times"].items() if "error" in each}
    assert not errors
    assert [call["id"] for call in results["calls"]] == list(results["times"])
    assert all(each["seconds"] > 0 and each["kernels"] for each in results["times"].values())
    assert not any("noise" in each["kernels"] for each in results["times"].values())


def test_a_page_is_sorted_by_time_lost(results: dict[str, Any], tmp_path: Path) -> None:
    first = results["calls"][0]["id"]
    slow: dict[str, Any] = {**results["times"][first], "seconds": 1e3}
    torch: dict[str, Any] = {"version": "2", "calls": {first: 2e3}}
    changed = {**results, "times": {**results["times"], first: slow}, "torch": torch}
    rows = rows_of(changed)
    assert rows[0].call["id"] == first and rows[0].torch == 2e3
    assert [row.lost for row in rows] == sorted((row.lost for row in rows), reverse=True)
    (tmp_path / "roofline-a.json").write_text(json.dumps(changed))
    text = files(read_results(tmp_path))[PAGE]
    assert "| 2.00× |" in text and results["peaks"]["device"] in text
    assert files({}) == {}


def test_faster_calls_raise_the_arithmetic_peak(results: dict[str, Any]) -> None:
    call = {"id": "a", "dtype": "f16", "multiply_adds": 10**15, "bytes": 1}
    changed = {**results, "calls": [call], "times": {"a": {"seconds": 1.0, "kernels": "k"}}}
    assert rates_of(changed)["f16"] == 2e15
    assert rates_of(changed)["f32"] == results["peaks"]["multiply_add"]


def test_slower_kernels_fail_a_comparison(
    results: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(results))
    name = next(iter(results["times"]))
    slow: dict[str, Any] = {**results["times"][name], "seconds": 1e3}
    new.write_text(json.dumps({**results, "times": {**results["times"], name: slow}}))
    assert compare.main([str(old), str(old)]) == 0
    assert compare.main([str(old), str(new)]) == 1
    assert slow["kernels"] in capsys.readouterr().out
    assert compare.main([str(new), str(old)]) == 0
    other = {**results, "peaks": {**results["peaks"], "device": "another"}}
    new.write_text(json.dumps(other))
    with pytest.raises(SystemExit):
        compare.main([str(old), str(new)])
    assert "two devices" in capsys.readouterr().err


def test_pytorch_has_operators_of_the_same_name() -> None:
    relu = RecordedCall("aten.relu", ({"tensor": 0, "dtype": "f32", "shape": [2]},), "f32")
    work = work_of(relu.graph(OPS).nodes[0], OPS)
    assert describe(Candidate(relu, work, "", 0))["torch"] == "aten.relu"
    ours = RecordedCall("spirloom.swiglu", relu.args, "f32")
    assert describe(Candidate(ours, work, "", 0))["torch"] == ""
