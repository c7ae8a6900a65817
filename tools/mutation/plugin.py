"""A pytest plugin: imports a mutant instead of a module, both named by environment variables."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

MODULE, SOURCE = "MUTATED_MODULE", "MUTATED_SOURCE"


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, module: str, source: Path) -> None:
        self._module, self._source = module, source

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._module:
            return None
        return importlib.util.spec_from_file_location(name, self._source)


if MODULE in os.environ:
    sys.meta_path.insert(0, _Finder(os.environ[MODULE], Path(os.environ[SOURCE])))
    if os.environ[MODULE] in sys.modules:
        sys.exit(f"{os.environ[MODULE]} is already imported.")
