"""The report of a verification, as a table and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spirloom.runtime.device import Device
from spirloom.terminal import shown
from spirloom.verify.session import Result
from spirloom.verify.verdicts import Finding, Verdict, bad

_SHOWN = 40


@dataclass(slots=True)
class VerifyReport:
    """The verified kernels and model. `cached` results were in the file at `path`; `compared` is
    the number of tensors of the model, `problem` why they were not compared.
    """

    device: Device
    path: Path
    results: list[Result] = field(default_factory=list)
    cached: int = 0
    compared: int = 0
    problem: str = ""

    @property
    def findings(self) -> list[Finding]:
        """The verdicts."""
        return [each.finding for each in self.results if each.finding is not None]

    @property
    def bad(self) -> list[Finding]:
        """Those that quarantine a kernel."""
        return bad(self.findings)


def to_text(report: VerifyReport) -> str:
    """The kernels with a bad verdict, notes, and the counts."""
    device = report.device
    lines = [f"Device   {shown(device.name)}, {shown(device.driver)}"]
    rows = [("verdict", "kernel", "error", "at", "detail"), *map(_cells, report.bad)]
    if report.bad:
        lines += ["", *_table(rows), ""]
    noted = [each for each in report.findings if each.verdict is Verdict.OK and each.note]
    lines += [f"Note     {each.variant} {each.note}" for each in noted[:_SHOWN]]
    if len(noted) > _SHOWN:
        lines.append(f"         and {len(noted) - _SHOWN} more (--json lists all)")
    lines += [f"Kernels  {_counts(report)}"]
    if report.compared:
        lines.append(f"Model    {report.compared} tensors compared with the references")
    if report.problem:
        lines.append(f"Model    not compared: {shown(report.problem)}")
    if report.bad:
        lines.append(
            f"Verdicts {report.path}: these kernels are not selected on this device. Update the "
            "driver and run `spirloom verify` again; report them with `spirloom bug-report`."
        )
    else:
        lines.append(f"Verdicts {report.path}")
    return "\n".join(lines)


def _counts(report: VerifyReport) -> str:
    counts = Counter(str(each.verdict) for each in report.findings)
    skipped = len(report.results) - len(report.findings)
    texts = [f"{counts[str(verdict)]} {_words(verdict)}" for verdict in Verdict if counts[verdict]]
    texts += [f"{skipped} cannot run on the device"] if skipped else []
    texts += [f"{report.cached} of the verdicts are cached"] if report.cached else []
    return ", ".join(texts) or "none"


def _words(verdict: Verdict) -> str:
    return str(verdict).replace("_", " ")


def _cells(each: Finding) -> tuple[str, ...]:
    error = f"{each.error:.1e}" if each.verdict is Verdict.WRONG else "-"
    at = str(list(each.at)) if each.verdict is Verdict.WRONG else "-"
    detail = ": ".join(filter(None, (each.case.rpartition("/")[2], each.note)))
    return (_words(each.verdict), each.variant, error, at, shown(detail.split("\n")[0]))


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        lines.append("  ".join(map(str.ljust, row, widths)).rstrip())
    return lines


def described(report: VerifyReport) -> dict[str, object]:
    """The report for JSON. `error` is relative to the norm of the expected result."""
    device = report.device
    return {
        "device": device.name,
        "uuid": device.uuid,
        "driver": device.driver,
        "verdicts": str(report.path),
        "cached": report.cached,
        "bad": len(report.bad),
        "kernels": [_described(each) for each in report.results],
        "model": {"compared": report.compared, "problem": report.problem},
    }


def _described(result: Result) -> dict[str, object]:
    found = result.finding
    head: dict[str, object] = {"op": result.op, "variant": result.variant}
    if found is None:
        return head | {"verdict": "skipped", "note": result.skipped}
    return head | {
        "verdict": str(found.verdict),
        "module_digest": f"{found.digest:016x}",
        "cases": found.cases,
        "error": found.error,
        "at": list(found.at),
        "case": found.case,
        "note": found.note,
    }
