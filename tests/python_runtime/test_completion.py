"""spirloom completion: in the shells that are installed, and the completions themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Prints the completions of the words "spirloom" and $1, one a line.
BASH = """
eval "$(spirloom completion bash)"
COMP_LINE="spirloom $1" COMP_POINT=$((9 + ${#1})) COMP_TYPE=9
COMP_WORDS=(spirloom "$1") COMP_CWORD=1
_python_argcomplete spirloom
printf '%s\\n' "${COMPREPLY[@]}"
"""
# zsh has no completions without a terminal.
ZSH = 'autoload -U compinit && compinit -u && eval "$(spirloom completion zsh)" && echo loaded'
FISH = 'spirloom completion fish | source; complete -C"spirloom $argv[1]"'


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with the script `spirloom`."""
    script = tmp_path / "spirloom"
    lines = ("# PYTHON_ARGCOMPLETE_OK", "import sys", "from spirloom.__main__ import main",
             "sys.exit(main())")  # fmt: skip
    script.write_text("\n".join((f"#!{sys.executable}", *lines)) + "\n", encoding="utf-8")
    script.chmod(0o755)
    return f"{tmp_path}{os.pathsep}{os.environ['PATH']}"


def output_of(path: str, *command: str) -> list[str]:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed.")
    settings = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=settings, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.strip() for line in done.stdout.splitlines()]


def test_bash(path: str) -> None:
    assert output_of(path, "bash", "-c", BASH, "-", "comp") == ["compare", "completion"]


def test_zsh(path: str) -> None:
    assert output_of(path, "zsh", "-f", "-c", ZSH)[-1] == "loaded"


def test_fish(path: str) -> None:
    found = output_of(path, "fish", "--no-config", "-c", FISH, "comp")
    assert [line.split("\t")[0] for line in found] == ["compare", "completion"]
