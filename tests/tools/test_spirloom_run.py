"""spirloom-run: outputs and error messages."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Tensor

from tests.tools.programs import AddModel, Program

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


def rejected(program: Program, *arguments: str | Path) -> str:
    """Runs, expects exit code 2, and returns the message."""
    done = program(*arguments)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stderr.strip(), "no message"
    assert "terminate called" not in done.stderr
    return done.stderr


def test_writes_the_outputs(spirloom_run: Program, add_model: AddModel) -> None:
    out = add_model.directory / "out"
    done = spirloom_run(*add_model.good, "--output-dir", out)
    assert done.returncode == 0, done.stderr
    (written,) = out.rglob("*.npy")
    assert written.parent == out, "an output name must not create directories"
    result = np.load(written)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, VALUES * 3)


@pytest.mark.parametrize("storage", ["buffer", "texture3d", "texture2d", "auto"])
def test_storages_agree(spirloom_run: Program, add_model: AddModel, storage: str) -> None:
    done = spirloom_run(
        *add_model.good, "--output-dir", add_model.directory / "out", "--storage", storage
    )
    assert done.returncode == 0, done.stderr
    (written,) = (add_model.directory / "out").glob("*.npy")
    np.testing.assert_array_equal(np.load(written), VALUES * 3)


@pytest.mark.parametrize(("flags", "expected"), [((), 2), (("--method", "tripled"), 3)])
def test_runs_one_of_the_methods(
    spirloom_run: Program, tmp_path: Path, flags: tuple[str, ...], expected: float
) -> None:
    done = spirloom_run(
        two_methods(tmp_path),
        *flags,
        "--input",
        f"x={saved_values(tmp_path)}",
        "--output-dir",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), VALUES * expected)


def test_unknown_method_lists_the_methods(spirloom_run: Program, tmp_path: Path) -> None:
    message = rejected(spirloom_run, two_methods(tmp_path), "--method", "halved")
    for word in ("halved", "doubled", "tripled"):
        assert word in message


def two_methods(directory: Path) -> Path:
    """A file with the methods y = 2x and y = 3x."""
    graphs = []
    for name, other in (("doubled", 1.0), ("tripled", 2.0)):
        x, y = (Tensor(each, DType.F32, VALUES.shape) for each in "xy")
        node = Node("aten.add.Tensor", (x, x, other, 0, 0.0, 0.0), (y,), name)
        graphs.append(Graph([x], [y], [node], name=name))
    graph_file.save(graphs, directory / "methods.slg")
    return directory / "methods.slg"


def saved_values(directory: Path) -> Path:
    """A file with VALUES."""
    np.save(directory / "x.npy", VALUES)
    return directory / "x.npy"


def test_writes_statistics(spirloom_run: Program, add_model: AddModel) -> None:
    stats, trace = add_model.directory / "stats.json", add_model.directory / "trace.json"
    out = add_model.directory / "out"
    done = spirloom_run(
        *add_model.good, "--output-dir", out, "--repeat", "5", "--warmup", "2",
        "--json", stats, "--profile", "--trace", trace,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    values = json.loads(stats.read_text())
    for key in ("load_ms", "pipeline_ms", "first_run_ms", "steady_min_ms", "steady_median_ms"):
        assert values[key] >= 0, key
    assert values["steady_min_ms"] <= values["steady_median_ms"]
    assert values["device"]
    assert "add_f32_" in done.stdout, "the profile names the variant"
    assert json.loads(trace.read_text())["traceEvents"]


def test_warms_up_for_a_duration(spirloom_run: Program, add_model: AddModel) -> None:
    start = time.monotonic()
    done = spirloom_run(*add_model.good, "--warmup-ms", "2000", "--repeat", "1")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - start > 2
    assert spirloom_run(*add_model.good, "--warmup-ms", "-1").returncode == 2


def test_times_complete_runs(spirloom_run: Program, add_model: AddModel) -> None:
    stats = add_model.directory / "times.json"
    done = spirloom_run(*add_model.good, "--repeat", "5", "--time-runs", "--json", stats)
    assert done.returncode == 0, done.stderr
    values = json.loads(stats.read_text())
    assert 0 < values["gpu_min_ms"] <= values["gpu_median_ms"]
    assert f"GPU time min {values['gpu_min_ms']:.3f} ms" in done.stdout
    assert "add_f32_" not in done.stdout, "--profile was not specified"
    message = rejected(spirloom_run, *add_model.good, "--time-runs")
    assert "--time-runs requires --repeat" in message


def test_lists_devices(spirloom_run: Program) -> None:
    done = spirloom_run("--list-devices")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_help_lists_options(spirloom_run: Program) -> None:
    done = spirloom_run("--help")
    assert done.returncode == 0
    options = ("--input", "--output-dir", "--repeat", "--profile", "--trace", "--device")
    for option in (*options, "--memory-limit"):
        assert option in done.stdout


def test_rejects_an_unknown_input_name(spirloom_run: Program, add_model: AddModel) -> None:
    extra = f"c={add_model.directory / 'a.npy'}"
    message = rejected(spirloom_run, *add_model.good, "--input", extra, "--output-dir", "out")
    assert "c" in message and "a" in message and "b" in message


def test_rejects_a_missing_input(spirloom_run: Program, add_model: AddModel) -> None:
    only_a: list[str | Path] = [add_model.model, "--input", f"a={add_model.directory / 'a.npy'}"]
    message = rejected(spirloom_run, *only_a, "--output-dir", add_model.directory)
    assert "b" in message


def test_rejects_another_shape(spirloom_run: Program, add_model: AddModel) -> None:
    arguments = add_model.with_a(VALUES.T.copy())
    message = rejected(spirloom_run, *arguments, "--output-dir", add_model.directory)
    assert "[3, 2]" in message and "[2, 3]" in message


def test_rejects_another_dtype(spirloom_run: Program, add_model: AddModel) -> None:
    arguments = add_model.with_a(VALUES.astype(np.int32))
    message = rejected(spirloom_run, *arguments, "--output-dir", add_model.directory)
    assert "int32" in message and "float32" in message


@pytest.mark.parametrize("dtype", [">f4", "f2", "O", "U3", "c8"])
def test_rejects_unknown_numpy_types(
    spirloom_run: Program, add_model: AddModel, dtype: str
) -> None:
    arguments = add_model.with_a(VALUES.astype(dtype))
    message = rejected(spirloom_run, *arguments, "--output-dir", add_model.directory)
    assert "a.npy" in message


def test_accepts_or_rejects_fortran_order(spirloom_run: Program, add_model: AddModel) -> None:
    arguments = add_model.with_a(np.asfortranarray(VALUES))
    done = spirloom_run(*arguments, "--output-dir", add_model.directory / "out")
    if done.returncode == 0:
        (written,) = (add_model.directory / "out").glob("*.npy")
        np.testing.assert_array_equal(np.load(written), VALUES * 3)
    else:
        assert done.returncode == 2 and "ortran" in done.stderr


@pytest.mark.parametrize("kept", [0, 5, 9, 40, 127, 128, 151])
def test_rejects_a_truncated_array(spirloom_run: Program, add_model: AddModel, kept: int) -> None:
    path = add_model.directory / "a.npy"
    path.write_bytes(path.read_bytes()[:kept])
    message = rejected(spirloom_run, *add_model.good, "--output-dir", add_model.directory)
    assert "a.npy" in message


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"{",
        b"{'descr': '<f4'}",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': 6, }",
    ],
)
def test_rejects_a_malformed_header(
    spirloom_run: Program, add_model: AddModel, header: bytes
) -> None:
    padded = header.ljust(117) + b"\n"
    data = b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + VALUES.tobytes()
    (add_model.directory / "a.npy").write_bytes(data)
    message = rejected(spirloom_run, *add_model.good, "--output-dir", add_model.directory)
    assert "a.npy" in message


def test_rejects_missing_files(spirloom_run: Program, add_model: AddModel) -> None:
    missing = add_model.directory / "missing.slg"
    message = rejected(spirloom_run, missing, "--output-dir", add_model.directory)
    assert "missing.slg" in message
    (add_model.directory / "a.npy").unlink()
    message = rejected(spirloom_run, *add_model.good, "--output-dir", add_model.directory)
    assert "a.npy" in message


@pytest.mark.parametrize("garbage", [b"", b"not a graph", b"\0" * 4096])
def test_rejects_a_file_that_is_not_a_graph(
    spirloom_run: Program, add_model: AddModel, garbage: bytes
) -> None:
    add_model.model.write_bytes(garbage)
    message = rejected(spirloom_run, *add_model.good, "--output-dir", add_model.directory)
    assert "add.slg" in message


def test_rejects_a_truncated_graph(spirloom_run: Program, add_model: AddModel) -> None:
    complete = add_model.model.read_bytes()
    for kept in (4, 12, len(complete) // 2):
        add_model.model.write_bytes(complete[:kept])
        message = rejected(spirloom_run, *add_model.good, "--output-dir", add_model.directory)
        assert "add.slg" in message


@pytest.mark.parametrize("limit", ["--max-device-bytes", "--memory-limit"])
def test_memory_is_limited(spirloom_run: Program, add_model: AddModel, limit: str) -> None:
    enough = spirloom_run(*add_model.good, limit, "1G")
    assert enough.returncode == 0, enough.stderr
    done = spirloom_run(*add_model.good, limit, "1")
    assert done.returncode in (1, 2), done.stdout
    assert limit.removeprefix("--").replace("-", "_") in done.stderr


def test_submissions_are_limited(spirloom_run: Program, add_model: AddModel) -> None:
    submissions = []
    for milliseconds in ("0", "0.000001"):
        report = add_model.directory / "report.json"
        done = spirloom_run(
            *add_model.good, "--max-submission-ms", milliseconds, "--repeat", "2", "--json", report
        )
        assert done.returncode == 0, done.stderr
        submissions.append(json.loads(report.read_text())["submissions"])
    assert submissions[0] == 1
    assert submissions[1] >= 1
    message = rejected(spirloom_run, *add_model.good, "--max-submission-ms", "-1")
    assert "--max-submission-ms" in message


def test_dispatches_are_limited(spirloom_run: Program, tmp_path: Path) -> None:
    x, y, z = (Tensor(name, DType.F32, (3,)) for name in "xyz")
    nodes = [
        Node("aten.add.Tensor", (a, x, 1.0, 0, 0.0, 0.0), (b,), b.name) for a, b in ((x, y), (y, z))
    ]
    graph_file.save(Graph([x], [z], nodes), tmp_path / "twice.slg")
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    run: list[str | Path] = [
        tmp_path / "twice.slg",
        "--input",
        f"x={tmp_path / 'x.npy'}",
        "--max-dispatches",
    ]
    enough = spirloom_run(*run, "2")
    assert enough.returncode == 0, enough.stderr
    done = spirloom_run(*run, "1")
    assert done.returncode == 1, done.stdout
    assert "the limit (1)" in done.stderr


def test_selects_a_device_by_id(spirloom_run: Program, add_model: AddModel) -> None:
    heading, first, *_ = spirloom_run("--list-devices").stdout.splitlines()
    identity = first[heading.index("id  ") :].split()[0]
    assert identity.startswith(("pci:", "uuid:")), first
    done = spirloom_run(*add_model.good, "--device", identity)
    assert done.returncode == 0, done.stderr
    rejected(spirloom_run, *add_model.good, "--device", "uuid:" + 32 * "e")


@pytest.mark.parametrize(
    "options",
    [
        ["--repeat", "-1"],
        ["--max-dispatches", "-1"],
        ["--max-device-bytes", "much"],
        ["--memory-limit", "5 parsecs"],
        ["--memory-limit", "-1"],
        ["--repeat", "many"],
        ["--storage", "texture9d"],
        ["--device", "no such device"],
        ["--input", "a"],
        ["--no-such-option"],
    ],
)
def test_rejects_invalid_options(
    spirloom_run: Program, add_model: AddModel, options: list[str]
) -> None:
    rejected(spirloom_run, *add_model.good, "--output-dir", add_model.directory, *options)


def test_rejects_an_output_directory_that_is_a_file(
    spirloom_run: Program, add_model: AddModel
) -> None:
    path = add_model.directory / "b.npy"
    message = rejected(spirloom_run, *add_model.good, "--output-dir", path)
    assert "b.npy" in message


def test_tunes_and_caches_the_results(spirloom_run: Program, add_model: AddModel) -> None:
    cache, out = add_model.directory / "cache", add_model.directory / "out"
    tuned = spirloom_run(*add_model.good, "--tune", "--cache-dir", cache, "--output-dir", out)
    assert tuned.returncode == 0, tuned.stderr
    assert "calls measured" in tuned.stdout
    assert not tuned.stderr, "progress is only reported on terminals"
    (written,) = out.glob("*.npy")
    np.testing.assert_array_equal(np.load(written), VALUES * 3)
    again = spirloom_run(*add_model.good, "--cache-dir", cache)
    assert again.returncode == 0, again.stderr


def test_prints_the_plan_after_a_pass(spirloom_run: Program, add_model: AddModel) -> None:
    plans = {}
    for name in ("infer", "select-kernels", "update-in-place"):
        done = spirloom_run(*add_model.good, f"--plan={name}")
        assert done.returncode == 0, done.stderr
        plans[name] = done.stdout
    assert "add_f32_buffer" not in plans["infer"], "kernels are selected by the next pass"
    for plan in (plans["select-kernels"], plans["update-in-place"]):
        assert "add_f32_buffer" in plan
        assert "%0, %1, %2" in plan
    message = rejected(spirloom_run, *add_model.good, "--plan=fold")
    assert "elide-concats" in message, "the names of the passes are listed"
