"""The comparison fails without PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def test_without_pytorch_the_comparison_fails(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('none', name='torch')\n")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(HERE)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
    )
    assert result.returncode != 0
    assert "the Python module 'torch' is missing. Install it: apt-get install python3-torch." in (
        " ".join(result.stderr.split())
    )
