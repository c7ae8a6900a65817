"""Options and fixtures of the site's tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--bin-dir", type=Path, default=ROOT / "build/release/bin")


@pytest.fixture(scope="session")
def site() -> Path:
    """The directory of the built site; a build with a warning fails."""
    programs = ("doxygen", "dot", "sphinx-build")
    if missing := [name for name in programs if shutil.which(name) is None]:
        pytest.skip(f"{', '.join(missing)} is not installed; `./dev docs` installs it.")
    done = subprocess.run(
        ["/usr/bin/python3", "-m", "tools.docs"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "build/docs/html"
