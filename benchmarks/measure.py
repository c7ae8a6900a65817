"""Measures processes: CPU time, wall time, and written files."""

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

Command = Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Cost:
    """The time of a process including its children, in seconds."""

    cpu: float
    wall: float


def run(command: Command, cwd: Path | None = None) -> Cost:
    """Measures the command and discards its output. Raises CalledProcessError."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code != 0:
        raise subprocess.CalledProcessError(code, [str(part) for part in command], None, errors)
    return Cost(cpu=usage.ru_utime + usage.ru_stime, wall=wall)


def minimum(costs: Sequence[Cost]) -> Cost:
    """The minimum CPU and wall time over several runs. Other load only increases times."""
    return Cost(cpu=min(c.cpu for c in costs), wall=min(c.wall for c in costs))


def best(times: int, command: Command) -> Cost:
    """The minimum cost over several runs of the command."""
    return minimum([run(command) for _ in range(times)])


def snapshot(*folders: Path) -> dict[Path, tuple[int, int]]:
    """Size and modification time of every file below the directories."""
    found: dict[Path, tuple[int, int]] = {}
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                path = Path(parent) / name
                status = path.lstat()
                found[path] = (status.st_size, status.st_mtime_ns)
    return found


def changed(before: dict[Path, tuple[int, int]], after: dict[Path, tuple[int, int]]) -> list[Path]:
    """The files that were created, deleted or written between two snapshots."""
    return sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))
