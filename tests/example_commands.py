"""Runs the commands that the README of an example documents."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The build that this tree, or the repository of which it is a copy, has.
BUILD = (ROOT / "build/release/bin/spirloom-shaderc").resolve().parents[1]
MODELS = ROOT / "build/pretrained"  # tools/pretrained.py

_STEPS = ("python ", "cmake ", "build/")
_LINE = re.compile(r"^    (.*)$", re.MULTILINE)


def documented(readme: Path) -> str:
    """The indented lines: commands and their output."""
    return "\n".join(_LINE.findall(readme.read_text(encoding="utf-8")))


def run(command: str) -> str:
    """The output of a command that must succeed, with the packages of tools/pretrained.py."""
    paths = [path for path in (os.environ.get("PYTHONPATH"), str(MODELS)) if path]
    settings = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        ["bash", "-euc", command], cwd=ROOT, env=settings, capture_output=True, encoding="utf-8",
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def run_documented(readme: Path, places: Mapping[str, Path]) -> dict[str, str]:
    """The output of each command but installations, which run in other directories: documented
    directory → directory here.
    """
    outputs = {}
    for line in documented(readme).splitlines():
        if not line.startswith(_STEPS) or line == "./dev build":
            continue
        command = line.replace("$PWD/build/release", str(BUILD)).replace("$PWD/", "")
        for place, here in places.items():
            command = command.replace(place, str(here))
        outputs[line] = run(re.sub("^python ", f"{sys.executable} ", command))
    return outputs
