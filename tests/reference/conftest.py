"""PyTorch is the oracle of these tests: without it they fail."""

from __future__ import annotations

import pytest

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    raise pytest.UsageError(
        f"The operators' references are compared with PyTorch's, and the Python module "
        f"'{error.name}' is missing. Install it: apt-get install python3-torch."
    ) from None
