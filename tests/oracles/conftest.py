"""These tests require PyTorch and ONNX Runtime (`./dev test-torch`)."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("onnxruntime") and find_spec("torch") else ["test_*.py"]
