"""The file of verdicts of a device, in the cache directory, which the runtime reads
(runtime/session/quarantine.h).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from spec_model.cache_directory import cache_directory
from spec_model.files import open_regular, replaced
from spirloom.runtime.device import Device
from spirloom.terminal import shown

HEADING = "spirloom verdicts 1"
_END = "end"
_DRIVER = "driver "
_MAX_BYTES = 8 << 20  # as in runtime/session/quarantine.cpp
_MAX_LINES = 20_000


class Verdict(StrEnum):
    """What verification found about a kernel. All but OK are quarantined."""

    OK = "ok"
    WRONG = "wrong"
    FAILS_TO_COMPILE = "fails_to_compile"
    CRASHES = "crashes"
    HANGS = "hangs"


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict about a variant. `digest` is that of its module; `error`, `at` and `case` are of
    the worst case: the largest error relative to the norm of the expected result, the index of its
    largest difference, and the id.
    """

    variant: str
    digest: int
    verdict: Verdict
    cases: int = 0  # number of cases that ran
    error: float = 0.0
    at: tuple[int, ...] = ()
    case: str = ""
    note: str = ""

    @property
    def key(self) -> tuple[str, int]:
        """Identifies the kernel in a file."""
        return self.variant, self.digest


def bad(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that quarantine their kernels."""
    return [each for each in findings if each.verdict is not Verdict.OK]


Findings = Mapping[tuple[str, int], Finding]


def default_path(device: Device, cache_dir: Path | None = None) -> Path:
    """The file of a device, in the cache directory by default."""
    uuid = device.uuid.partition(":")[2]
    directory = cache_dir or cache_directory()
    return directory / f"verdicts-{uuid}-{device.driver_version_number:08x}.txt"


def read(path: Path, driver: str) -> Findings:
    """The verdicts in a file about this driver. Empty if there is none, and for a malformed or
    oversized file.
    """
    try:
        with open_regular(path) as stream:
            data = stream.read(_MAX_BYTES + 1)
        return parse(data, driver)
    except (OSError, ValueError):
        return {}


def parse(data: bytes, driver: str) -> Findings:
    """The verdicts in the contents of a file. Raises ValueError if they are malformed."""
    if len(data) > _MAX_BYTES:
        raise ValueError("The file is too large.")
    lines = data.decode().split("\n")
    if len(lines) < 4 or lines[0] != HEADING or lines[-2:] != [_END, ""]:
        raise ValueError("The file is incomplete.")
    if lines[1] != _DRIVER + _one_line(driver):
        return {}
    found = map(_finding, lines[2:-2])
    return {each.key: each for each in found}


def _finding(line: str) -> Finding:
    variant, digest, verdict, cases, error, at, case, note = line.split("\t")
    index = tuple(map(int, at.split(","))) if at else ()
    return Finding(
        variant, int(digest, 16), Verdict(verdict), int(cases), float(error), index, case, note
    )


def format_findings(findings: Iterable[Finding], driver: str) -> bytes:
    """The contents of a file."""
    lines = [HEADING, _DRIVER + _one_line(driver), *map(_line, findings), _END, ""]
    return "\n".join(lines).encode()


def _line(each: Finding) -> str:
    at = ",".join(map(str, each.at))
    cells = (
        each.variant, f"{each.digest:016x}", each.verdict, str(each.cases), f"{each.error:.3e}",
        at, each.case, each.note[:_MAX_NOTE],
    )  # fmt: skip
    return "\t".join(map(_one_line, cells))


_MAX_NOTE = 300


def _one_line(text: str) -> str:
    return shown(text.replace("\t", " ").replace("\n", " "))


def add(path: Path, findings: Iterable[Finding], driver: str) -> Findings:
    """Merges verdicts into the file, which replace those of the same kernels. Returns all. Raises
    OSError.
    """
    merged = dict(read(path, driver))
    for each in findings:
        merged.pop(each.key, None)  # the newest come last
        merged[each.key] = each
    kept = list(merged.values())[-_MAX_LINES:]
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path, durable=False) as stream:
        stream.write(format_findings(kept, driver))
    return merged
