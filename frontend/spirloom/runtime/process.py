"""Which process this is. Vulkan's objects do not survive a fork: drivers' threads stay behind, and
their locks as they were. What was made before one is refused after it."""

from __future__ import annotations

import os

forks = 0  # how many lie between the process that imported this and the present one


def _count_fork() -> None:
    global forks
    forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)

FORKED = (
    "This process was forked from one that had used Spirloom, which Vulkan's drivers do not "
    "survive. Start processes afresh (multiprocessing.set_start_method('spawn')), or use Spirloom "
    "in the children alone."
)
