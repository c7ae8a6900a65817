"""The programs for Windows: results of examples, equal bytes as on the host, caches, errors."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from tests.windows.conftest import ROOT, Digits, Windows, on_host

LOGIT_TOLERANCE = 1e-4
STORY = ROOT / "examples/story/story.slg"


def test_lists_the_device(windows: Windows, release: Path) -> None:
    done = windows.run("spirloom-run", "--list-devices")
    assert done.returncode == 0, done.stderr
    names = [line.split("  ")[1] for line in done.stdout.splitlines()[1:]]
    assert names
    host = on_host(release / "bin/spirloom-run", "--list-devices")
    assert all(name in host for name in names)


def test_digits(windows: Windows, release: Path, digits: Digits, tmp_path: Path) -> None:
    output = tmp_path / "Größe 大きさ 🧵" / "out"  # not in a code page
    arguments = ["--input", f"image=Z:{digits.input}", "--output-dir", output]
    done = windows.run("spirloom-run", digits.model, *arguments)
    assert done.returncode == 0, done.stderr
    (file,) = output.iterdir()
    logits = np.load(file)
    np.testing.assert_allclose(logits, digits.logits, rtol=0, atol=LOGIT_TOLERANCE)
    on_host(
        release / "bin/spirloom-run", digits.model,
        "--input", f"image={digits.input}", "--output-dir", tmp_path / "host",
    )  # fmt: skip
    (host_file,) = (tmp_path / "host").iterdir()
    assert file.read_bytes() == host_file.read_bytes()


def test_story(windows: Windows, release: Path) -> None:
    arguments = [STORY, "--prompt", "It was a truth which Emma", "--tokens", "20", "--json"]
    done = windows.run("spirloom-llm", *arguments)
    assert done.returncode == 0, done.stderr
    reply = json.loads(done.stdout)
    host = json.loads(on_host(release / "bin/spirloom-llm", *arguments))
    assert len(reply["tokens"]) == 20
    assert (reply["tokens"], reply["text"]) == (host["tokens"], host["text"])


def test_inventory(windows: Windows, release: Path) -> None:
    done = windows.run("spirloom-ops", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout == on_host(release / "bin/spirloom-ops", "--json")


@pytest.mark.parametrize("program", ["spirloom_c_example", "c_shared_example"])
def test_c_example(windows: Windows, digits: Digits, program: str) -> None:
    done = windows.run(program, digits.model, digits.scans)
    assert done.returncode == 0, done.stderr
    predicted = [int(line.rpartition(" ")[2]) for line in done.stdout.splitlines()]
    assert predicted == digits.logits.argmax(axis=1).tolist()


def test_minimal_example(windows: Windows, digits: Digits) -> None:
    done = windows.run("spirloom_minimal", digits.model)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith(f": float32 {list(digits.logits.shape)}")


def test_missing_and_unreadable_files(windows: Windows, tmp_path: Path) -> None:
    done = windows.run("spirloom-run", tmp_path / "no such größe.slg")
    assert done.returncode == 2
    assert done.stderr.strip().endswith(
        "no such größe.slg' cannot be read: No such file or directory."
    )
    done = windows.run("spirloom-run", tmp_path)
    assert done.returncode == 2
    assert "is not a regular file." in done.stderr


def test_caches_pipelines(windows: Windows, digits: Digits) -> None:
    arguments = [digits.model, "--random"]
    assert windows.run("spirloom-run", *arguments).returncode == 0
    (cache,) = windows.cache.glob("pipelines-*.bin")
    contents = cache.read_bytes()
    assert windows.run("spirloom-run", *arguments).returncode == 0
    assert cache.read_bytes() == contents
    cache.write_bytes(contents[: len(contents) // 2])
    done = windows.run("spirloom-run", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(cache.read_bytes()) >= len(contents)


def test_survives_kills(windows: Windows, digits: Digits, tmp_path: Path) -> None:
    """Killed at several moments, a program leaves a cache that the next one can use."""
    cache, output = tmp_path / "cache", tmp_path / "out"
    arguments = [digits.model, "--random", "--cache-dir", cache, "--output-dir", output]
    command = windows.command("spirloom-run", *arguments)
    for delay in (0.3, 0.6, 0.9):
        with subprocess.Popen(command, env=windows.environment, stdout=subprocess.PIPE) as process:
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
    done = windows.run("spirloom-run", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    files = [path.name for directory in (cache, output) for path in directory.iterdir()]
    assert not [name for name in files if name.endswith(".tmp")]
