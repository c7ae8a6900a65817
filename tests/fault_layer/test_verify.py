"""Every kind of a driver's bug ends in a right result or an error, never in a wrong number."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Tensor

from tests.fault_layer.conftest import Driver

# The operator of each bug, in alphabetical order, and the verdict about its kernel.
BUGS = {
    "exp": ("lost", "crashes"),
    "neg": ("fails", "fails_to_compile"),
    "relu": ("wrong", "wrong"),
    "sigmoid": ("crashes_compiler", "crashes"),
    "sqrt": ("crashes", "crashes"),
    "tanh": ("hangs", "hangs"),
}
VARIANTS = [f"{op}_f32_buffer" for op in BUGS]
X = np.linspace(-2, 2, 4099, dtype=np.float32)  # several workgroups


def model_of(path: Path, ops: list[str]) -> Path:
    """A graph file of unary operators, in this order."""
    x = y = Tensor("x", DType.F32, X.shape)
    nodes: list[Node] = []
    for op in ops:
        y = Tensor(op, DType.F32, X.shape)
        nodes.append(Node(f"aten.{op}", (nodes[-1].outputs[0] if nodes else x,), (y,), op))
    graph_file.save(Graph([x], [y], nodes), path)
    return path


def expected(ops: list[str]) -> np.ndarray[Any, Any]:
    """The result by NumPy."""
    functions: dict[str, Callable[[Any], Any]] = {
        "exp": np.exp,
        "neg": np.negative,
        "relu": lambda x: np.maximum(x, 0),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "sqrt": np.sqrt,
        "tanh": np.tanh,
    }
    y = X.astype(np.float64)
    for op in ops:
        y = functions[op](y)
    return y


def run(
    driver: Driver, model: Path, max_submission_ms: str = "100", timeout: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs program.py. `timeout`: with verification of kernels."""
    given, result = driver.directory / "x.npy", driver.directory / "y.npy"
    np.save(given, X)
    result.unlink(missing_ok=True)
    program = Path(__file__).with_name("program.py")
    command = [
        sys.executable, str(program), str(model), str(given), str(result), max_submission_ms,
        *([timeout] if timeout else []),
    ]  # fmt: skip
    return subprocess.run(
        command, env=driver.environment(), capture_output=True, text=True, timeout=400, check=False
    )


def result_of(driver: Driver) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = np.load(driver.directory / "y.npy")
    return found


def verdicts(driver: Driver, *options: str, log: Path | None = None) -> dict[str, Any]:
    """Verifies VARIANTS and returns the report."""
    patterns = [text for variant in VARIANTS for text in ("--op", variant)]
    ended = driver.run("verify", *patterns, *options, "--json", log=log)
    assert ended.output, ended.errors
    report: dict[str, Any] = json.loads(ended.output)
    assert ended.code == (1 if report["bad"] else 0)
    return report


@pytest.fixture
def broken(driver: Driver, tmp_path: Path) -> Driver:
    """A driver with all bugs. On the right one, each case creates the pipeline of its variant."""
    log = tmp_path / "modules.txt"
    report = verdicts(driver, log=log)
    assert [each["variant"] for each in report["kernels"]] == VARIANTS
    assert {each["verdict"] for each in report["kernels"]} == {"ok"}
    digests = log.read_text(encoding="utf-8").split()
    assert len(digests) == len(VARIANTS)
    kinds = [kind for kind, _ in BUGS.values()]
    return Driver(driver.layer, driver.directory, dict(zip(digests, kinds, strict=True)))


def test_bugs_become_verdicts_and_results_are_right(broken: Driver, tmp_path: Path) -> None:
    # Without verdicts, users get the wrong results of a bug, but kernels that fail to compile are
    # replaced.
    relu = model_of(tmp_path / "relu.slg", ["relu"])
    assert run(broken, relu).returncode == 0
    assert not np.allclose(result_of(broken), expected(["relu"]))
    neg = model_of(tmp_path / "neg.slg", ["neg"])
    ended = run(broken, neg)
    assert "The driver fails to compile neg_f32_buffer" in ended.stderr
    np.testing.assert_array_equal(result_of(broken), expected(["neg"]))
    sqrt = model_of(tmp_path / "sqrt.slg", ["relu", "sqrt"])
    assert run(broken, sqrt).returncode != 0

    report = verdicts(broken, "--again", "--timeout", "20")
    found = {each["variant"]: each["verdict"] for each in report["kernels"]}
    assert found == dict(zip(VARIANTS, (verdict for _, verdict in BUGS.values()), strict=True))
    wrong = next(each for each in report["kernels"] if each["verdict"] == "wrong")
    assert wrong["error"] > 0.1
    assert wrong["at"]

    everything = ["relu", "sqrt", "exp", "neg", "sigmoid", "tanh"]
    ended = run(broken, model_of(tmp_path / "all.slg", everything))
    assert ended.returncode == 0, ended.stderr
    assert "Kernels that failed verification on this device are not selected" in ended.stderr
    assert not set(ended.stdout.split()) & set(VARIANTS)
    np.testing.assert_allclose(result_of(broken), expected(everything), rtol=1e-5)

    # The stored verdicts are final until they are determined again, such as after an update.
    assert verdicts(broken)["cached"] == len(VARIANTS)
    updated = Driver(broken.layer, broken.directory)
    assert verdicts(updated, "--again")["bad"] == 0
    ended = run(updated, relu)
    assert ended.stdout.split() == ["relu_f32_buffer"]
    assert not ended.stderr


def test_the_nodes_of_a_model_are_verified(broken: Driver, tmp_path: Path) -> None:
    # The stored verdicts are of the driver before its bugs: the kernels of the nodes are right by
    # their test cases, and wrong in the model.
    model = model_of(tmp_path / "model.slg", ["relu", "neg"])
    ended = broken.run("verify", str(model), "--json")
    assert ended.code == 1, ended.errors
    report = json.loads(ended.output)
    assert report["model"] == {"compared": 2, "problem": ""}
    (bad,) = (each for each in report["kernels"] if each["verdict"] != "ok")
    assert (bad["variant"], bad["verdict"]) == ("relu_f32_buffer", "wrong")
    assert bad["note"] == "wrong in a model: f32[4099]"
    assert run(broken, model).returncode == 0
    np.testing.assert_array_equal(result_of(broken), expected(["relu", "neg"]))


def test_divided_dispatches_are_verified(layer: Path, tmp_path: Path) -> None:
    """A driver that ignores the later parts of a divided dispatch: the runtime does not divide."""
    broken = Driver(layer, tmp_path, {"dispatch_base": "ignored"})
    model = model_of(tmp_path / "relu.slg", ["relu"])
    divided = run(broken, model, "0.000001")
    assert divided.returncode == 0, divided.stderr
    assert not np.array_equal(result_of(broken), expected(["relu"]))

    ended = broken.run("verify", str(model), "--json")
    assert ended.code == 1, ended.errors
    (bad,) = (each for each in json.loads(ended.output)["kernels"] if each["verdict"] != "ok")
    assert (bad["variant"], bad["verdict"]) == ("vkCmdDispatchBase", "wrong")
    assert "elements of a divided dispatch are wrong" in bad["note"]
    assert run(broken, model, "0.000001").returncode == 0
    np.testing.assert_array_equal(result_of(broken), expected(["relu"]))

    right = Driver(layer, tmp_path)
    ended = right.run("verify", str(model), "--again", "--json")
    assert ended.code == 0, ended.errors
    found = {each["variant"]: each["verdict"] for each in json.loads(ended.output)["kernels"]}
    assert found["vkCmdDispatchBase"] == "ok"


def test_loading_a_model_verifies_its_kernels(broken: Driver, tmp_path: Path) -> None:
    """Runtime(verify=True): every kind of bug ends in a right result in the first run."""
    for path in (broken.directory / "spirloom").glob("verdicts-*"):
        path.unlink()  # those of the driver before its bugs
    everything = list(BUGS)
    model = model_of(tmp_path / "all.slg", everything)
    first = run(broken, model, timeout="20")
    assert first.returncode == 0, first.stderr
    assert f"Verifying {len(BUGS)} kernels." in first.stderr
    for variant in VARIANTS:
        assert variant in first.stderr
    assert first.stdout
    assert not set(first.stdout.split()) & set(VARIANTS)
    np.testing.assert_allclose(result_of(broken), expected(everything), rtol=1e-5)

    # The verdicts are cached, also those about the kernels that replace others.
    again = run(broken, model, timeout="20")
    assert again.returncode == 0, again.stderr
    assert "Verifying" not in again.stderr
    assert again.stdout == first.stdout


def test_divided_dispatches_are_verified_by_loading(layer: Path, tmp_path: Path) -> None:
    broken = Driver(layer, tmp_path, {"dispatch_base": "ignored"})
    model = model_of(tmp_path / "relu.slg", ["relu"])
    ended = run(broken, model, "0.000001", timeout="60")
    assert ended.returncode == 0, ended.stderr
    assert "Verifying 2 kernels." in ended.stderr
    np.testing.assert_array_equal(result_of(broken), expected(["relu"]))


def test_a_kernel_without_replacement_is_an_error(layer: Path, tmp_path: Path) -> None:
    """A driver that miscompiles every module."""
    broken = Driver(layer, tmp_path, {"*": "wrong"})
    ended = run(broken, model_of(tmp_path / "relu.slg", ["relu"]), timeout="60")
    assert ended.returncode != 0
    assert "a driver on which it passes `spirloom verify`" in ended.stderr
