"""spirloom partition: its output and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.frontend.command_line import run, saved, small_network
from tests.frontend.partition_models import NON_ZERO, UNIQUE

FULL = """\
segment  where   nodes     in   out  operators
0        device      7  768 B  16 B  Conv 2, Add, Flatten, Gemm, MaxPool, Relu

operator  device  host  at import
Add            1
Conv           2
Flatten        1
Gemm           1
MaxPool        1
Relu           1

MODEL: all 7 nodes run on the device.
"""
PARTS = """\
segment  where   nodes       in      out  operators
0        device      2   6.9 kB  36.9 kB  Conv, Relu
1        host        4  36.9 kB      4 B  GatherND, NonZero, ReduceMean, Transpose
2        device      2  36.9 kB  36.9 kB  Conv, Mul

operator    device  host  at import
Conv             2
GatherND               1
Mul              1
NonZero                1
ReduceMean             1
Relu             1
Transpose              1

on the host
  NonZero, NonZero_n: its output size depends on the data; shapes must be known at import
  Transpose, Transpose_t: it reads 'n', which has a size that depends on the data
  GatherND, GatherND_g: it reads 't', which has a size that depends on the data
  ReduceMean, ReduceMean_m: it reads 'g', which has a size that depends on the data

MODEL: 4 of 8 nodes run on the device, in 2 segments.
"""


def test_a_fully_supported_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(small_network(), tmp_path)
    found = run(capsys, "partition", path, "--dim", "batch=1", "--full")
    assert found == (0, FULL.replace("MODEL", path), "")


def test_a_partitioned_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(NON_ZERO.model(), tmp_path)
    text = PARTS.replace("MODEL", path)
    assert run(capsys, "partition", path) == (0, text, "")
    last = text.splitlines()[-1]
    error = f"spirloom: error: --full: {last}\n"
    assert run(capsys, "partition", path, "--full") == (1, text, error)


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(NON_ZERO.model(), tmp_path)
    code, out, _ = run(capsys, "partition", path, "--json")
    facts = json.loads(out)
    assert (code, facts["full"]) == (0, False)
    assert [(s["placement"], s["inputs"], s["outputs"]) for s in facts["segments"]] == [
        ("device", ["x"], ["r"]), ("host", ["r"], ["m"]), ("device", ["r", "m"], ["y"])
    ]  # fmt: skip
    assert facts["operators"]["NonZero"]["host"] == 1
    assert [n["name"] for n in facts["nodes"] if n["placement"] == "device"] == [
        "Conv_c", "Relu_r", "Conv_d", "Mul_y"
    ]  # fmt: skip


def test_bounds_of_node_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(UNIQUE.model(), tmp_path)
    assert run(capsys, "partition", path, "--range", "back=0..5")[0] == 0
    code, _, err = run(capsys, "partition", path, "--range", "nowhere=0..5")
    assert code == 1 and "--range names no input: nowhere." in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "leaves input dimensions open. Set them with --dim batch=N."),
        (("--dim", "batch=1..4"), "--dim batch must be one size: an ONNX model is partitioned"),
        (("--dim", "depth=3"), "--dim names no dimension of an input: depth."),
    ],
)
def test_open_sizes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    code, out, err = run(capsys, "partition", saved(small_network(), tmp_path), *options)
    assert (code, out) == (1, "") and message in err


def test_invalid_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    code, out, err = run(capsys, "partition", str(tmp_path / "m.onnx"))
    assert (code, out) == (1, "") and "is not an ONNX model" in err
    code, out, err = run(capsys, "partition", str(tmp_path / "nowhere.onnx"))
    assert (code, out) == (1, "") and "nowhere.onnx: No such file or directory." in err
