"""These tests compare with PyTorch and fail without it."""

from __future__ import annotations

import pytest

try:
    import torch  # noqa: F401
    import torchvision  # noqa: F401
except ModuleNotFoundError as error:
    raise pytest.UsageError(
        f"The operators' references are compared with PyTorch's operators; the Python module "
        f"'{error.name}' is missing. Install it: apt-get install python3-{error.name}."
    ) from None
