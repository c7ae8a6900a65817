"""The Python lines of README.md run as printed."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import torch

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.filterwarnings("error:Spirloom supports inference only")
def test_the_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    if not entry_points(group="torch_dynamo_backends", name="spirloom"):
        import_module("spirloom.torch.backend")  # in a source tree, nothing else registers it
    names: dict[str, object] = {}
    exec(block, names)
    module, x, y = (names[name] for name in ("module", "x", "y"))
    assert isinstance(module, torch.nn.Module)
    torch.testing.assert_close(torch.as_tensor(y), module(x), rtol=1e-5, atol=1e-5)
