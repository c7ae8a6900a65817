"""Every command of `spirloom --help`, from the wheel in an environment with what it requires.

A command that needs another package says which, and how to install it.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.wheel.test_wheel import ARCHIVE, ROOT, call

STORY = ROOT / "examples/story/story.slg"

# For each command: arguments, exit code, and text of the output. NET has one input.
COMMANDS: dict[str, tuple[tuple[str, int, str], ...]] = {
    "import": (("NET.pt2", 0, "NET.slg: "), ("NET.onnx", 1, "pip install onnx.")),
    "inspect": (("NET.slg --nodes", 0, "aten.convolution"),),
    "extract": (("NET.pt2 -o d", 1, "is not an ExecuTorch program"),),
    "partition": (("NET.pt2", 0, "on the device"),),
    "ops": (("", 0, "aten.relu(x)"),),
    "cases": (("--spec-dir s --template-dir t --out x.slcases", 1, "pip install"),),
    "new-op": (("squared --like relu", 1, "pip install"),),
    "op": (
        ("explain aten.mm --shapes 'a: [8,8], b: [8,8]'", 1, "pip install jinja2 pyyaml."),
        ("show relu_f32_buffer --stats", 1, "pip install"),
    ),
    "run": (
        ("NET.slg --random", 0, "float32 ["),
        ("NET.pt2 --random", 0, "NET.pt2 was imported for this run."),
        ("story.slg -p Once --tokens 3", 0, ". I am"),
        ("--help", 0, "--prompt"),
        ("NET.slg --random --record x.slreplay", 0, "x.slreplay: "),
    ),
    "serve": (("story.slg", 1, "pip install starlette uvicorn tokenizers."),),
    "compare": (("NET.slg --with reference --random", 0, "0 above the tolerance"),),
    "bisect": (("NET.slg --random", 0, ""),),
    "verify": (("--op relu", 1, "pip install jinja2 pyyaml."),),
    "replay": (("NET.slreplay --compare", 0, ""),),
    "profile": (("show NET.slprof", 0, "aten.convolution"),),
    "report": (("NET.slg -o x.html", 1, "pip install igraph."),),
    "doctor": (("", 0, "Device 0"),),
    "bug-report": (("NET.slg --random -o x.zip", 0, "x.zip"),),
    "completion": (("bash", 0, "complete"), ("zsh", 0, "bashcompinit"), ("fish", 0, "spirloom")),
}

PROGRAMS = (
    ("spirloom-run NET.slg --random --repeat 2 --profile-out x.slprof", "of 2 runs"),
    ("spirloom-llm story.slg --prompt Once --tokens 3", ". I am"),
    ("spirloom-ops --op aten.mm", "mm_tiled"),
)


@pytest.fixture(scope="module")
def directory(bare: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a model as an archive and a graph file, a profile and a recording."""
    made = tmp_path_factory.mktemp("commands")
    shutil.copy(ARCHIVE, made / "NET.pt2")
    shutil.copy(ROOT / "examples/digits/digits.onnx", made / "NET.onnx")
    shutil.copy(STORY, made / "story.slg")
    call(made, bare / "spirloom", "import", "NET.pt2")
    call(made, bare / "spirloom-run", "NET.slg", "--random", "--repeat", "2", "--profile-out",
         "NET.slprof")  # fmt: skip
    call(made, bare / "spirloom", "run", "NET.slg", "--random", "--record", "NET.slreplay")
    return made


def words(text: str) -> list[str]:
    """The words of a command line, with quotes."""
    return [one or other for one, other in re.findall(r"'([^']*)'|(\S+)", text)]


@pytest.mark.parametrize(
    ("name", "arguments", "code", "text"),
    [(name, *row) for name, rows in COMMANDS.items() for row in rows],
)
def test_command(
    bare: Path, directory: Path, name: str, arguments: str, code: int, text: str
) -> None:
    output = call(directory, bare / "spirloom", name, *words(arguments), code=code)
    assert text in output
    assert "Traceback" not in output


@pytest.mark.parametrize(("line", "text"), PROGRAMS)
def test_program(bare: Path, directory: Path, line: str, text: str) -> None:
    name, *arguments = words(line)
    assert text in call(directory, bare / name, *arguments)


def test_the_list_is_complete(bare: Path, tmp_path: Path) -> None:
    output = call(tmp_path, bare / "spirloom", "--help")
    listed = re.findall(r"^    ([a-z][\w-]*)", output.partition("COMMAND\n")[2], re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)
    scripts = {path.name for path in bare.glob("spirloom*")}
    assert scripts == {"spirloom", *(line.split()[0] for line, _ in PROGRAMS)}
