"""Writes the directory of a sweep: compiled versions, graphs of calls, and programs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spirloom import graph_file

from benchmarks.gpu.bundle import write_programs
from benchmarks.gpu.calls import call_of, graph_of
from codegen.generate import generate
from codegen.output import Request as Generation
from spec_model import Library, Op, SpecError, load_library
from spec_model.errors import Position
from spec_model.vocabulary import DType
from tests.network.driver import TOLERANCE
from tools.sweep.calls import (
    Call,
    checking_graph,
    read_call,
    reference_run,
    runs_in,
    timed_graph,
)
from tools.sweep.overlay import Request, Version, write_overlay
from tools.sweep.spills import spilling_kernels

ROOT = Path(__file__).resolve().parents[2]
SPECS, TEMPLATES = ROOT / "op_specs", ROOT / "templates" / "glsl"
NAME = "sweep"


def make_sweep(
    request: Request, texts: Sequence[str], build: Path, directory: Path, work: Path
) -> None:
    """Writes to `directory`, which is new or empty; `work` is for temporary files. Versions that
    spill registers on a GPU are not timed.

    Raises SpecError for invalid params or calls, and if no version compiles and does not spill.
    """
    versions = write_overlay(request, SPECS, work / "op_specs")
    library = load_library([SPECS, work / "op_specs"], [TEMPLATES])
    swept = library.ops[f"sweep.{request.op}"]
    op = next(op for op in library.ops.values() if op.short_name == request.op)
    calls = [read_call(text, op) for text in texts]
    dtypes = {call.dtype for call in calls}
    directory.mkdir(parents=True, exist_ok=True)
    kept = [version for version in versions if _ids(swept, version, dtypes)]
    if not kept:
        named = ", ".join(sorted(dtypes))
        message = f"Kernel '{request.kernel}' has no variant for the dtypes of the calls: {named}."
        raise SpecError.at(Position("--call"), message)
    remarks = _compile(
        Sources(library, swept, dtypes, build, work), kept, directory / "sweep.slpack"
    )
    remarks |= spilling_kernels(
        library, directory / "sweep.slpack", build / "bin" / "spirloom-shader-stats"
    )
    if remarks.keys() >= {version.kernel for version in kept}:
        reasons = "\n".join(f"{v.title}: {remarks[v.kernel]}" for v in kept)
        raise SpecError.at(Position(NAME), f"No version is left to time:\n{reasons}")
    write_programs(build, directory, ("spirloom-run",))
    shutil.copy2(Path(__file__).with_name("sweep.py"), directory)
    names = {version.kernel for version in kept} - remarks.keys()
    plan = {
        "op": op.name,
        "kernel": request.kernel,
        "versions": [_version(v, remarks.get(v.kernel, "")) for v in kept],
        "calls": [
            _write_call(op, swept, names, call, directory / f"call{i}")
            for i, call in enumerate(calls)
        ],
    }
    (directory / "plan.json").write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")


def _ids(swept: Op, version: Version, dtypes: set[DType]) -> list[str]:
    """The ids of the version's variants for the dtypes of the calls."""
    variants = (v for v in swept.variants if v.kernel.name == version.kernel)
    return [v.id for v in variants if v.dtype in dtypes and v.storage == "buffer"]


def _version(version: Version, remark: str) -> dict[str, Any]:
    """The version in plan.json; `remark` says why it is not timed: a compile error, or spills."""
    entry = {"kernel": version.kernel, "title": version.title, "remark": remark}
    return {**entry, "params": version.params}


@dataclass(frozen=True, slots=True)
class Sources:
    """Inputs and directories of compilation."""

    library: Library
    swept: Op
    dtypes: set[DType]
    build: Path
    work: Path


def _compile(sources: Sources, versions: Sequence[Version], pack: Path) -> dict[str, str]:
    """Writes the library of the versions that compile. Returns the errors of the others by kernel.

    Raises SpecError if no version compiles.
    """
    remarks: dict[str, str] = {}
    while True:
        kept = [version for version in versions if version.kernel not in remarks]
        errors = _compiled(sources, kept, pack)
        if errors is None:
            return remarks
        broken = dict.fromkeys(re.findall(r"\(.*?(sweep_\d+)_", errors))
        remarks |= {kernel: errors.splitlines()[0] for kernel in broken}
        if not broken or len(remarks) == len(versions):
            raise SpecError.at(Position(NAME), f"No version compiles:\n{errors}")


def _compiled(sources: Sources, versions: Sequence[Version], pack: Path) -> str | None:
    """Writes the library of the versions. Returns the errors of the compiler, or None."""
    work, swept, build = sources.work, sources.swept, sources.build
    ids = [id for version in versions for id in _ids(swept, version, sources.dtypes)]
    selection = work / "selection.json"
    selection.write_text(json.dumps({"version": 1, "ops": {swept.name: ids}}), encoding="utf-8")
    out = work / "generated"
    generate(
        Generation(
            spec_dirs=(SPECS, work / "op_specs"),
            template_dirs=(TEMPLATES,),
            out=out,
            library=NAME,
            overrides=False,
            depfile=None,
            root=ROOT,
            selection=selection,
        )
    )
    command: list[str | Path] = [build / "bin/spirloom-shaderc", "--quiet"]
    command += ["--manifest", out / "manifest.json", "--output", pack]
    command += ["--cache-dir", build / "shader-cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip()


def _write_call(op: Op, swept: Op, names: set[str], call: Call, directory: Path) -> dict[str, Any]:
    """Writes the graphs of a call, and returns its entry in the plan. `names` are kernel names."""
    reference = reference_run(op, call)
    kernels = [kernel for kernel in swept.kernels if kernel.name in names]
    runs = list(runs_in(swept, kernels, call))
    if not runs:
        message = f"No version supports this call: the 'when' conditions of {swept.name} are false."
        raise SpecError.at(Position(f"--call '{call.text}'"), message)
    directory.mkdir()
    graph_file.save(timed_graph(runs[0], swept.name), directory / "time.slg")
    graph_file.save(timed_graph(runs[0], op.name), directory / "default.slg")
    graph_file.save(checking_graph(runs[0], op.name), directory / "check.slg")
    found = asdict(call_of(NAME, reference, graph_of(reference), op.name))
    return {
        "text": call.text,
        "directory": directory.name,
        "multiply_adds": found["multiply_adds"],
        "bytes": found["bytes"],
        "reference": reference.variant.kernel.name,
        "tolerance": TOLERANCE.get(call.dtype, 0.0),
        "kernels": [run.variant.kernel.name for run in runs],
    }
