"""These tests require .venv-torch and the models of tools/pretrained.py (`./dev test-torch`)."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("onnxruntime") and find_spec("PIL") else ["test_*.py"]
