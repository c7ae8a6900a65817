"""These tests run in .venv-torch (`./dev test-torch`); elsewhere there is nothing to collect."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

# What modules need beside torch.
NEEDS = {
    "test_compile_networks.py": ("transformers",),
    "test_custom_operators.py": ("onnx",),
    "test_networks.py": ("transformers", "onnxscript"),
    "test_onnx_oracles.py": ("onnxruntime",),
    "test_parts.py": ("onnxruntime",),
    "test_parts_of_exports.py": ("onnxscript",),
    "test_patterns.py": ("transformers",),
    "test_quantised.py": ("torchao",),
    "test_serve.py": ("openai", "starlette", "uvicorn"),
}


def _is_here(name: str) -> bool:
    return find_spec(name) is not None


collect_ignore = [file for file, names in NEEDS.items() if not all(map(_is_here, names))]
# The distribution's torch is older than the oldest that is supported.
collect_ignore_glob = [] if _is_here("torch") and _is_here("torch.export") else ["test_*.py"]


@pytest.fixture
def inference() -> Iterator[None]:
    """Without gradients, and without what Dynamo remembers of other tests."""
    import torch

    torch._dynamo.reset()
    with torch.no_grad():
        yield
