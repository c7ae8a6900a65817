"""Assigns the nodes of a network to device or host, for every importer.

An importer describes its calls as a `Network`, with a reason for each call that the device does not
support. `partition` assigns the others by cost, in as few segments as possible. `report` is the
description for users.
"""

from __future__ import annotations

from spirloom.partition.network import Network, Node, Placement, Plan, Segment
from spirloom.partition.placement import Costs, work_of
from spirloom.partition.planner import partition
from spirloom.partition.report import Report, report

__all__ = [
    "Costs",
    "Network",
    "Node",
    "Placement",
    "Plan",
    "Report",
    "Segment",
    "partition",
    "report",
    "work_of",
]
