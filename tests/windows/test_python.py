"""The wheel installed by pip in CPython for Windows: commands, files, processes, results."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.frontend.gguf_writer import Q4_0, file_bytes, tiny_metadata, tiny_tensors
from tests.windows.conftest import ROOT, TIMEOUT_S, Digits, Windows, on_host
from tests.windows.interpreter import DOWNLOADS, Interpreter, install

ARCHIVE = ROOT / "tests/fuzz/corpus/torch_import/convolutions.pt2"
LOGIT_TOLERANCE = 1e-4
NAME = "Größe 大きさ 🧵"  # not in a code page
RUN = """
import sys
import numpy as np
import spirloom

model = spirloom.load(sys.argv[1])
(logits,) = model(np.load(sys.argv[2]))
np.save(sys.argv[3], logits)
"""
# Processes that start a child as the commands do, print its number, and wait.
PARENTS = {
    "verify": """
from spirloom.verify.session import Settings, _Worker

child = _Worker(Settings())
assert child.answer(300) == {"ready": True}
print(child._process.pid, flush=True)
input()
""",
    "template": """
from spirloom.family.template_renderer import TemplateRenderer

child = TemplateRenderer("{{ messages[0].content }}", {})
assert child.render([{"content": "hello"}], generate=False) == "hello"
print(child._process.pid, flush=True)
input()
""",
}
# Waits for the end of a process.
WAIT = f"""
import ctypes, sys

SYNCHRONIZE, INVALID_PARAMETER = 0x100000, 87
kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
kernel32.OpenProcess.restype = ctypes.c_void_p
process = ctypes.c_void_p(kernel32.OpenProcess(SYNCHRONIZE, False, int(sys.argv[1])))
if process:
    sys.exit(kernel32.WaitForSingleObject(process, {TIMEOUT_S // 2 * 1000}))
assert ctypes.get_last_error() == INVALID_PARAMETER  # no such process
"""


@pytest.fixture(scope="module")
def python(windows: Windows, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    """With the wheel and its requirements, and the packages that `spirloom verify` requires."""
    directory = tmp_path_factory.mktemp("python")
    made = install(directory, windows.environment)
    options = ["--quiet", "--no-index", "--no-compile", "--no-warn-script-location"]
    options += ["--find-links", f"Z:{DOWNLOADS}"]
    command = made.command("-m", "pip", "install", *options, f"Z:{wheel}[ops]")
    made.run(command, directory)
    return made


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A working directory whose name has letters outside of code pages."""
    made = tmp_path / NAME
    made.mkdir()
    return made


def test_doctor(python: Interpreter, windows: Windows, directory: Path) -> None:
    report = json.loads(python.run(python.script("spirloom", "doctor", "--json"), directory).stdout)
    assert report["problems"] == []
    assert report["operators"] >= 246
    site = python.directory / "Lib/site-packages"
    library = report["library"]["path"].replace("\\", "/")
    assert library == f"Z:{site}/spirloom/_native/spirloom.dll"
    assert report["cache"]["directory"].endswith(r"\AppData\Local\spirloom\cache")


def test_digits(python: Interpreter, digits: Digits, directory: Path) -> None:
    python.run(python.command("-c", RUN, digits.model, digits.input, "out.npy"), directory)
    logits = np.load(directory / "out.npy")
    np.testing.assert_allclose(logits, digits.logits, rtol=0, atol=LOGIT_TOLERANCE)


def test_run(python: Interpreter, digits: Digits, directory: Path) -> None:
    """The command runs spirloom-run.exe and returns its exit code."""
    options = ("--input", f"image=Z:{digits.input}", "--output-dir", "out")
    for command in (python.script("spirloom-run"), python.script("spirloom", "run")):
        python.run([*command, f"Z:{digits.model}", *options], directory)
        logits = np.load(directory / "out/logits.npy")
        np.testing.assert_allclose(logits, digits.logits, rtol=0, atol=LOGIT_TOLERANCE)
        (directory / "out/logits.npy").unlink()
    failed = python.run(python.script("spirloom-run", "none.slg"), directory, code=2)
    assert "none.slg" in failed.stderr


@pytest.mark.parametrize("kind", ["pt2", "gguf"])
def test_import(python: Interpreter, directory: Path, kind: str) -> None:
    """The file is that of the host with the same flatbuffers. It is replaced, and no temporary file
    remains.
    """
    source = directory / f"net.{kind}"
    source.write_bytes(
        ARCHIVE.read_bytes()
        if kind == "pt2"
        else file_bytes(tiny_metadata("llama"), tiny_tensors(Q4_0, "llama"))
    )
    for _ in range(2):
        python.run(python.script("spirloom", "import", source.name, "-o", "net.slg"), directory)
    program = ROOT / ".venv/bin/spirloom"
    (flatbuffers,) = DOWNLOADS.glob("flatbuffers-*.whl")
    on_host(
        program, "import", source.name, "-o", "host.slg",
        directory=directory, PYTHONPATH=str(flatbuffers),
    )  # fmt: skip
    assert (directory / "net.slg").read_bytes() == (directory / "host.slg").read_bytes()
    expected = on_host(program, "inspect", "host.slg", "--nodes", directory=directory)
    assert sorted(path.name for path in directory.iterdir()) == [
        "host.slg", source.name, "net.slg",
    ]  # fmt: skip
    shown = python.run(python.script("spirloom", "inspect", "net.slg", "--nodes"), directory)
    assert shown.stdout == expected


def test_verify(python: Interpreter, windows: Windows, directory: Path) -> None:
    """The kernel runs in a process of its own; the verdict is stored where the runtime reads it."""
    command = python.script("spirloom", "verify", "--variant", "relu_f32_buffer", "--json")
    report = json.loads(python.run(command, directory).stdout)
    assert report
    (verdicts,) = windows.cache.glob("verdicts-*.txt")
    text = verdicts.read_text(encoding="utf-8")
    assert text.startswith("spirloom verdicts 1\n")
    assert "relu_f32_buffer" in text


@pytest.mark.parametrize("kind", PARENTS)
def test_children_end_with_a_killed_parent(python: Interpreter, directory: Path, kind: str) -> None:
    with subprocess.Popen(
        python.command("-c", PARENTS[kind]),
        cwd=directory,
        env=dict(python.environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
    python.run(python.command("-c", WAIT, child), directory)
