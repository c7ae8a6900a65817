"""What figures depend on: the machine, its software, and what else runs on it."""

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
LOADED = 0.1  # the share of the processors' time from which on figures are not to be trusted


def describe(*packages: str) -> dict[str, str]:
    """Processor, system, date, and the versions of the distribution's packages."""
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
    """The processors this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class Usage:
    """Seconds: the clock's, the processors' (all of them, whoever used them), and our own of them.

    Ours are this process's and those of its children that have ended.
    """

    wall: float
    busy: float
    own: float

    @classmethod
    def now(cls) -> Usage:
        """What has been used up to now."""
        first = Path("/proc/stat").read_text(encoding="utf-8").partition("\n")[0]
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, first.split()[1:9])
        ticks = user + nice + system + irq + softirq + steal
        times = [resource.getrusage(who)
                 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]  # fmt: skip
        own = sum(used.ru_utime + used.ru_stime for used in times)
        return cls(time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), own)

    def others_until(self, later: Usage, processors: int) -> float:
        """The share of the processors' time that others used, between 0 and 1."""
        span = (later.wall - self.wall) * processors
        others = (later.busy - self.busy) - (later.own - self.own)
        return min(1.0, max(0.0, others / span)) if span > 0 else 0.0


def others_now(seconds: float = 2.0) -> float:
    """The share of the processors' time that others use; watches that long."""
    start = Usage.now()
    time.sleep(seconds)
    return start.others_until(Usage.now(), os.cpu_count() or 1)
