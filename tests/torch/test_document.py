"""Runs the examples of docs/tutorials/pytorch.md."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest
import torch

from tests.torch.archives import needs_archives
from tests.torch.test_requirements import pinned

PAGE = Path(__file__).resolve().parents[2] / "docs/tutorials/pytorch.md"


@needs_archives
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_module("spirloom.torch.backend")  # a source tree has no entry points
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    torch._dynamo.reset()
    flags = doctest.ELLIPSIS
    done = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags, encoding="utf-8")
    assert done.attempted > 25
    assert done.failed == 0


def test_the_page_names_the_oldest_supported_pytorch() -> None:
    named = re.search(r"pip install torch +# ([\d.]+) or newer", PAGE.read_text(encoding="utf-8"))
    assert named
    assert f"{named[1]}.0" == pinned("requirements-oldest.txt")["torch"]
