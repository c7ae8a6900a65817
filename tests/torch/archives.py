"""The mark of tests that need a PyTorch whose archives the importer reads."""

from __future__ import annotations

import pytest
import torch
from torch.torch_version import TorchVersion

needs_archives = pytest.mark.skipif(
    TorchVersion(torch.__version__) < "2.9", reason="This PyTorch pickles weights in its archives."
)
