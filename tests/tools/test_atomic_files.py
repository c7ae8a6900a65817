"""Files of spirloom-run and spirloom-ops are replaced atomically, also after failures."""

from __future__ import annotations

import random
import resource
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from tests.tools.programs import AddModel, Program


def command(program: Program, model: AddModel, *options: str | Path) -> list[str]:
    return [str(part) for part in (program.path, *model.good, *options)]


def expect_complete(out: Path, shape: tuple[int, ...]) -> None:
    """All outputs in the directory are complete."""
    for path in out.glob("*.npy"):
        assert np.load(path).shape == shape


def test_killed_at_any_moment(spirloom_run: Program, add_model: AddModel) -> None:
    out, cache = add_model.directory / "out", add_model.directory / "cache"
    run = command(spirloom_run, add_model, "--output-dir", out, "--cache-dir", cache)
    start = time.monotonic()
    assert subprocess.run(run, check=False).returncode == 0
    duration = time.monotonic() - start
    moments = random.Random(1)
    for _ in range(20):
        process = subprocess.Popen(run, stdout=subprocess.DEVNULL)
        time.sleep(moments.random() * duration)
        process.send_signal(signal.SIGKILL)
        process.wait()
        expect_complete(out, (2, 3))
    # The temporary file of a process that was killed while writing.
    for directory in (out, cache):
        (directory / ".spirloom-1-0.tmp").write_bytes(b"partial")
    for path in cache.glob("pipelines-*"):
        path.unlink()
    assert subprocess.run(run, check=False).returncode == 0
    assert not list(out.glob(".spirloom-*")) + list(cache.glob(".spirloom-*"))


def test_eight_processes_share_a_cache(spirloom_run: Program, add_model: AddModel) -> None:
    cache = add_model.directory / "cache"
    processes = [
        subprocess.Popen(
            command(
                spirloom_run,
                add_model,
                "--output-dir",
                add_model.directory / f"out{i}",
                "--cache-dir",
                cache,
            )
        )
        for i in range(8)
    ]
    assert [process.wait() for process in processes] == [0] * 8
    (first, *others) = [
        next((add_model.directory / f"out{i}").glob("*.npy")).read_bytes() for i in range(8)
    ]
    assert others == [first] * 7
    assert not list(cache.glob(".spirloom-*"))


@pytest.mark.parametrize("limit", [0, 100, 150])
def test_file_size_limit(spirloom_run: Program, add_model: AddModel, limit: int) -> None:
    out = add_model.directory / "out"
    run = command(spirloom_run, add_model, "--output-dir", out, "--cache-dir", "none")
    assert subprocess.run(run, check=False).returncode == 0
    (good,) = out.glob("*.npy")
    before = good.read_bytes()
    done = subprocess.run(
        run,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    if done.returncode == -signal.SIGBUS:
        pytest.skip("the driver keeps device memory in files, which the limit applies to")
    assert done.returncode == 2
    assert f"'{good}' cannot be written: File too large." in done.stderr
    assert good.read_bytes() == before
    assert [file.name for file in Path(out).iterdir()] == [good.name]


def test_full_standard_output(
    spirloom_run: Program, spirloom_ops: Program, add_model: AddModel
) -> None:
    for words in (command(spirloom_run, add_model, "--profile"), [str(spirloom_ops.path)]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                words, stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.returncode == 2
        assert "Standard output cannot be written: No space left on device" in done.stderr
