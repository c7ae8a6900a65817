"""README.md: its spec and C++ lines are the repository's, its commands run as printed, and its
links resolve. Its Python lines run in tests/torch/test_readme.py.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.llm.model_directory import write_model_directory

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_spec_is_current() -> None:
    (spec,) = (ROOT / "op_specs").rglob("hardswish.yaml")
    assert f"`{spec.relative_to(ROOT)}`" in README
    assert blocks("yaml") == [spec.read_text(encoding="utf-8")]


def test_links_resolve() -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", README)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_length_is_limited() -> None:
    assert len(README.splitlines()) <= 120


def test_the_program_is_that_of_the_example() -> None:
    """Every line, in the order of examples/minimal."""
    (block,) = blocks("cpp")
    source = iter((ROOT / "examples/minimal/main.cpp").read_text(encoding="utf-8").split("\n"))
    for line in block.splitlines():
        assert any(line == each.strip() for each in source), line


@pytest.fixture
def clone(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A directory as a built clone, with a small model in the place of a large one."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    build: Path = request.config.getoption("--build-dir").resolve()
    (tmp_path / "build").mkdir()
    (tmp_path / "build/release").symlink_to(build)
    write_model_directory(tmp_path / "Llama-3.2-1B", "llama3", 96)
    return tmp_path


@pytest.mark.parametrize("block", blocks("sh"))
def test_its_commands(block: str, clone: Path) -> None:
    """But for a server, which would not end: tests/python_runtime starts it."""
    path = f"{ROOT}/.venv/bin{os.pathsep}{os.environ['PATH']}"
    lines = [line for line in block.splitlines() if not line.startswith("spirloom serve ")]
    done = subprocess.run(
        ["bash", "-euxc", "\n".join(lines)], cwd=clone, env={**os.environ, "PATH": path},
        capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
