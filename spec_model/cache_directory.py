"""The directory of caches, which the runtime also uses (runtime/vulkan/pipeline_cache.h)."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """$XDG_CACHE_HOME/spirloom or ~/.cache/spirloom; on Windows %LOCALAPPDATA%\\spirloom\\cache."""
    if os.name == "nt":
        data = os.environ.get("LOCALAPPDATA")
        return (Path(data) if data else Path.home() / "AppData/Local") / "spirloom/cache"
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "spirloom"


def variable() -> str:
    """The name of the environment variable that sets the directory."""
    return "LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME"
