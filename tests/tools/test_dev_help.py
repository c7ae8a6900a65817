"""./dev describes a command before it sets anything up."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEV = (ROOT / "dev").read_text(encoding="utf-8")
USAGE = DEV[DEV.index("usage: ./dev") : DEV.index("\nEOF\n")]
COMMANDS = re.findall(r"^  ([a-z][a-z-]*)(?: |$)", USAGE, re.MULTILINE)
HAVE_OWN_HELP = re.search(r"^    ([a-z| -]+)\) ;; # say more$", DEV, re.MULTILINE)


def dev(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["./dev", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


def test_every_command_is_described() -> None:
    handled = re.findall(r"^  ([a-z][a-z-]*)\)$", DEV, re.MULTILINE)
    assert handled and set(handled) <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_is_its_paragraph(command: str) -> None:
    assert HAVE_OWN_HELP
    if command in HAVE_OWN_HELP[1].split(" | "):
        return  # after the paragraph its own parser, which needs the set-up
    shown = dev(command, "--help")
    assert shown.returncode == 0
    assert re.match(rf"  {command}\b", shown.stdout)
    assert shown.stdout in dev("help").stdout


def test_a_command_that_does_not_exist_is_named() -> None:
    for arguments in (["tset"], ["tset", "--help"]):
        result = dev(*arguments)
        assert result.returncode == 2
        assert result.stderr.endswith("dev: there is no command 'tset'\n")
