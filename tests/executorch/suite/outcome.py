"""What becomes of a case of the suites."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class Kind(StrEnum):
    PASSES = "passes"
    LEFT = "left"  # the partitioner delegates nothing of it
    REFUSED = "refused"  # by Spirloom
    OTHER = "other"  # PyTorch or ExecuTorch itself cannot export or run it
    WRONG = "wrong"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: Kind
    reason: str = ""


def read_rows(results: Path) -> list[dict[str, Any]]:
    """What a worker wrote. A last line may be cut off where a process was."""
    if not results.exists():
        return []
    lines = results.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]
