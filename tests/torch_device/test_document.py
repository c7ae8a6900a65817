"""Runs the examples of docs/how-to/pytorch-device.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/pytorch-device.md"


def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) == 2
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})
    assert capsys.readouterr().out.startswith("torch.Size([4, 2])\n")
