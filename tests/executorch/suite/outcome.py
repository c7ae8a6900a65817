"""The outcome of a case of the suites."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class Kind(StrEnum):
    PASSES = "passes"
    NOT_DELEGATED = "not delegated"  # the partitioner delegates no node
    REJECTED = "rejected"  # by Spirloom
    OTHER = "other"  # PyTorch or ExecuTorch cannot export or run it
    WRONG = "wrong"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: Kind
    reason: str = ""


def read_rows(results: Path) -> list[dict[str, Any]]:
    """The rows that workers wrote. The last line may be incomplete if a process ended."""
    if not results.exists():
        return []
    lines = results.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]
