"""These tests run in .venv-torch (`./dev test-torch`); elsewhere there is nothing to collect."""

from __future__ import annotations

from importlib.util import find_spec

# What modules need beside torch.
NEEDS = {
    "test_compile.py": ("transformers",),
    "test_custom_operators.py": ("onnx",),
    "test_networks.py": ("transformers", "onnxscript"),
    "test_onnx_oracles.py": ("onnxruntime",),
    "test_patterns.py": ("transformers",),
}


def _is_here(name: str) -> bool:
    return find_spec(name) is not None


collect_ignore = [file for file, names in NEEDS.items() if not all(map(_is_here, names))]
# The distribution's torch is older than the oldest that is supported.
collect_ignore_glob = [] if _is_here("torch") and _is_here("torch.export") else ["test_*.py"]
