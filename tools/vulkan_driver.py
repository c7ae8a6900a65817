"""Selects a Vulkan driver for a child process."""

from __future__ import annotations

import os
from pathlib import Path


def with_driver(description: Path) -> dict[str, str]:
    """The environment in which the Vulkan loader finds only this driver; `description` is its
    `*_icd.json`.
    """
    return os.environ | {
        "VK_DRIVER_FILES": str(description),
        "VK_ICD_FILENAMES": str(description),  # loaders before 1.3.207
    }
