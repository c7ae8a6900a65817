"""Compares the nodes of a model with the references of their operators, in a process of its own
(`spirloom compare`), after its kernels have been verified by themselves.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spec_model import Library
from spirloom import child_python
from spirloom.verify.verdicts import Finding, Verdict

_MAX_NOTE = 300


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """The number of compared tensors, and the kernels that were wrong. `error`: why there is no
    comparison.
    """

    compared: int = 0
    wrong: tuple[Finding, ...] = ()
    error: str = ""


def check_model(
    graph_file: Path,
    given: Sequence[str],
    verdicts: Path,
    library: Library,
    digests: Mapping[str, int],
    seconds: float,
) -> ModelCheck:
    """Compares every node of a graph file. `given` are options of `spirloom compare`; kernels with
    bad `verdicts` are not selected.
    """
    command = ["-m", "spirloom.cli", "compare", str(graph_file), "--random"]
    command += ["--with", "reference", "--layers", "--json", "--verdicts", str(verdicts), *given]
    try:
        done = child_python.run(
            *command, capture_output=True, encoding="utf-8", errors="replace", timeout=seconds,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return ModelCheck(error=f"no result after {seconds:g} s")
    if done.returncode not in (0, 1) or not done.stdout.lstrip().startswith("{"):
        lines = done.stderr.strip().splitlines()
        how = (
            f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        )
        return ModelCheck(error=lines[-1] if lines else how)
    rows = [row for row in json.loads(done.stdout)["rows"] if "wrong" in row]
    ops = {variant.id: variant.op for variant in library.variants}
    wrong = [
        _finding(row, variant, digests[variant])
        for row in rows
        if row["wrong"]
        for variant in row["kernels"]
        if ops.get(variant) == row["op"] and variant in digests
    ]
    return ModelCheck(len(rows), tuple(wrong))


def _finding(row: Mapping[str, Any], variant: str, digest: int) -> Finding:
    error = row["relative"] if row["relative"] is not None else 1e300
    note = f"wrong in a model: {row['dtype']}{row['shape']}"
    at = tuple(row["largest_error_at"])
    return Finding(variant, digest, Verdict.WRONG, 1, error, at, row["node"], note[:_MAX_NOTE])
