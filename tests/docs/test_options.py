"""Every option that the documentation names exists in some program or command."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "docs/*.md"]
# Where programs and commands define their options.
SOURCES = ["dev", "*.py", "*.cpp", "*.h", ":!tests/docs"]
OF_OTHERS = {
    "cmake": {"build", "preset", "prefix", "install", "toolchain"},
    "containers": {"gpus", "group-add"},
    "exportable libraries of Android": {"abi"},
    "Fossilize": {"enable-pipeline-stats"},
    "java": {"enable-native-access"},
    "mypy": {"strict"},
    "pip": {"config-settings", "index-url"},
    "rsync": {"inplace"},
    "torchcts": {"level", "non-interactive", "template"},
    "vulkaninfo": {"summary"},
    "ExecuTorch's runner": {"backend_option", "data_path", "etdump_path", "inputs", "method_name",
                            "model_path", "num_executions", "output_file", "print_all_output"},
}  # fmt: skip
_OPTION = re.compile(r"(?<![\w-])--(?P<name>[a-z][\w-]*)")
_DEFINED = re.compile(r"[\"'`,!(\[|]\s?--(?P<name>[a-z][\w-]*)")


def files(patterns: list[str]) -> list[Path]:
    command = ["git", "ls-files", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines()]


@cache
def known() -> frozenset[str]:
    found = set().union(*OF_OTHERS.values())
    for file in files(SOURCES):
        found |= {m["name"] for m in _DEFINED.finditer(file.read_text(encoding="utf-8"))}
    return frozenset(found)


@pytest.mark.parametrize("page", files(PAGES), ids=lambda page: str(page.relative_to(ROOT)))
def test_options_of_a_page_exist(page: Path) -> None:
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        for name in (match["name"] for match in _OPTION.finditer(line)):
            assert name in known(), f"{page.relative_to(ROOT)}:{number}: --{name}"
