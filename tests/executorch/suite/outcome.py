"""What becomes of a case of the suites."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
