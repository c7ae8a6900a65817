"""The conditions of a measurement: hardware, software versions, and other load."""

from __future__ import annotations

import datetime
import os
import platform
import resource
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("mesa-vulkan-drivers", "python3-torch", "g++")
BUSY_THRESHOLD = 0.1  # share of CPU time of other processes; figures above it are unreliable


def describe(*packages: str) -> dict[str, str]:
    """CPU, operating system, date, and versions of distribution packages."""
    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    found = {"cpu": cpu, "cores": str(cores())}
    found["load average"] = f"{os.getloadavg()[0]:.1f}"
    found["system"] = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    found["kernel"] = platform.release()
    found["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()
    for package in packages or PACKAGES:
        version = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", package],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        found[package] = version.stdout.strip() or "unknown"
    return found


def cores() -> int:
    """The number of CPU cores available to this process."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class Usage:
    """Seconds: wall time, CPU time of the whole machine, and CPU time of this process.

    `own` includes the terminated children of this process.
    """

    wall: float
    busy: float
    own: float

    @classmethod
    def now(cls) -> Usage:
        """The usage up to now."""
        first = Path("/proc/stat").read_text(encoding="utf-8").partition("\n")[0]
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, first.split()[1:9])
        ticks = user + nice + system + irq + softirq + steal
        times = [resource.getrusage(who)
                 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]  # fmt: skip
        own = sum(used.ru_utime + used.ru_stime for used in times)
        return cls(time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), own)

    def others_until(self, later: Usage, processors: int) -> float:
        """The fraction of CPU time that other processes used, between 0 and 1."""
        span = (later.wall - self.wall) * processors
        others = (later.busy - self.busy) - (later.own - self.own)
        return min(1.0, max(0.0, others / span)) if span > 0 else 0.0


def others_now(seconds: float = 2.0) -> float:
    """The fraction of CPU time that other processes use, measured over `seconds`."""
    start = Usage.now()
    time.sleep(seconds)
    return start.others_until(Usage.now(), os.cpu_count() or 1)
