"""The operator library whose references are compared with PyTorch."""

from __future__ import annotations

from pathlib import Path

from spec_model import load_library

_ROOT = Path(__file__).resolve().parents[2]
LIBRARY = load_library([_ROOT / "op_specs"], [_ROOT / "templates" / "glsl"])
