"""What a partition is: segments, to be run one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Side(StrEnum):
    """Who computes."""

    DEVICE = "device"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Segment:
    """Nodes by their places in the network, in order, with known ones that they need.

    `takes` are the values from inputs and from segments before, `gives` those that others take or
    that are outputs of the network.
    """

    side: Side
    nodes: tuple[int, ...]
    takes: tuple[str, ...]
    gives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Segments in the order of their run, and for each node why it stays: "" if it does not."""

    segments: tuple[Segment, ...]
    reasons: tuple[str, ...]
