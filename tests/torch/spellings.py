"""How torch spells operators whose arguments differ from ours, and those that are ours alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

functional = torch.nn.functional

SPELLINGS: dict[str, Callable[..., Any]] = {}
