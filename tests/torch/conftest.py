"""These tests run in .venv-torch (`./dev test-torch`); elsewhere there is nothing to collect."""

from __future__ import annotations

from importlib.util import find_spec

missing = [name for name in ("torch", "transformers", "onnxscript") if find_spec(name) is None]
collect_ignore_glob = ["test_*.py"] if missing else []
