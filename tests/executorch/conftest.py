"""These tests run in .venv-executorch (`./dev test-executorch`); elsewhere there is nothing to collect."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("executorch") else ["test_*.py"]
