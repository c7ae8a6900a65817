"""Which part of a network goes to the device: for importers, of whatever format.

An importer describes its calls as a `Network`, with a reason for each that the device cannot
compute; `partition` puts the others where costs say, in as few segments as can be. `report` is
what users see of that.
"""

from __future__ import annotations

from spirloom.partition.costs import Costs
from spirloom.partition.network import Network, Node
from spirloom.partition.plan import Plan, Segment, Side
from spirloom.partition.planner import partition
from spirloom.partition.report import Report, report
from spirloom.partition.work import work_of

__all__ = [
    "Costs",
    "Network",
    "Node",
    "Plan",
    "Report",
    "Segment",
    "Side",
    "partition",
    "report",
    "work_of",
]
