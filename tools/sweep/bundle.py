"""A sweep's folder: versions compiled, calls as graphs, and what runs them on any machine."""

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
from codegen import Library, Op, SpecError, load_library
from codegen.errors import Position
from codegen.generate import generate
from codegen.request import Request as Generation
from codegen.vocabulary import DType
from tests.network.driver import TOLERANCE
from tools.sweep.calls import (
    Written,
    checking_graph,
    read_call,
    reference_run,
    runs_in,
    timed_graph,
)
from tools.sweep.overlay import Request, Version, write_overlay

ROOT = Path(__file__).resolve().parents[2]
SPECS, TEMPLATES = ROOT / "op_specs", ROOT / "templates" / "glsl"
NAME = "sweep"


def make_sweep(
    request: Request, texts: Sequence[str], build: Path, folder: Path, work: Path
) -> None:
    """Fills the folder, which is new or empty; `work` is for what is not kept.

    Raises SpecError for what spec, params or calls get wrong, or a shader that does not compile.
    """
    versions = write_overlay(request, SPECS, work / "op_specs")
    library = load_library([SPECS, work / "op_specs"], [TEMPLATES])
    swept = library.ops[f"sweep.{request.op}"]
    op = next(op for op in library.ops.values() if op.short_name == request.op)
    calls = [read_call(text, op) for text in texts]
    dtypes = {call.dtype for call in calls}
    folder.mkdir(parents=True, exist_ok=True)
    kept = [version for version in versions if _ids(swept, version, dtypes)]
    if not kept:
        named = ", ".join(sorted(dtypes))
        raise SpecError.at(Position("--call"), f"Kernel '{request.kernel}' has none of: {named}.")
    remarks = _compile(Sources(library, swept, dtypes, build, work), kept, folder / "sweep.slpack")
    write_programs(build, folder, ("spirloom-run",))
    shutil.copy2(Path(__file__).with_name("sweep.py"), folder)
    names = {version.kernel for version in kept} - remarks.keys()
    plan = {
        "op": op.name,
        "kernel": request.kernel,
        "versions": [_version(v, remarks.get(v.kernel, "")) for v in kept],
        "calls": [
            _write_call(op, swept, names, call, folder / f"call{i}") for i, call in enumerate(calls)
        ],
    }
    (folder / "plan.json").write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")


def _ids(swept: Op, version: Version, dtypes: set[DType]) -> list[str]:
    """The version's variants that calls are in."""
    variants = (v for v in swept.variants if v.kernel.name == version.kernel)
    return [v.id for v in variants if v.dtype in dtypes and v.storage == "buffer"]


def _version(version: Version, remark: str) -> dict[str, Any]:
    """As the plan has it; `remark` says why it does not compile."""
    words = {"kernel": version.kernel, "words": version.words, "remark": remark}
    return {**words, "params": version.params}


@dataclass(frozen=True, slots=True)
class Sources:
    """What versions are compiled from, and where."""

    library: Library
    swept: Op
    dtypes: set[DType]
    build: Path
    work: Path


def _compile(sources: Sources, versions: Sequence[Version], pack: Path) -> dict[str, str]:
    """The library of those versions that compile; by kernel, what is wrong with the others.

    Raises SpecError if none does.
    """
    remarks: dict[str, str] = {}
    while True:
        kept = [version for version in versions if version.kernel not in remarks]
        said = _compiled(sources, kept, pack)
        if said is None:
            return remarks
        broken = dict.fromkeys(re.findall(r"\(.*?(sweep_\d+)_", said))
        remarks |= {kernel: said.splitlines()[0] for kernel in broken}
        if not broken or len(remarks) == len(versions):
            raise SpecError.at(Position(NAME), f"No version compiles:\n{said}")


def _compiled(sources: Sources, versions: Sequence[Version], pack: Path) -> str | None:
    """Writes the library of the versions; the compiler's words if it cannot."""
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


def _write_call(op: Op, swept: Op, names: set[str], call: Written, folder: Path) -> dict[str, Any]:
    """The graphs of a call, and what is known of it. `names` are those of the versions' kernels."""
    reference = reference_run(op, call)
    kernels = [kernel for kernel in swept.kernels if kernel.name in names]
    runs = list(runs_in(swept, kernels, call))
    if not runs:
        message = f"No version can compute this: {swept.name}'s 'when' does not hold."
        raise SpecError.at(Position(f"--call '{call.text}'"), message)
    folder.mkdir()
    graph_file.save(timed_graph(runs[0], swept.name), folder / "time.slg")
    graph_file.save(timed_graph(runs[0], op.name), folder / "rule.slg")
    graph_file.save(checking_graph(runs[0], op.name), folder / "check.slg")
    found = asdict(call_of(NAME, reference, graph_of(reference), op.name))
    return {
        "text": call.text,
        "folder": folder.name,
        "multiply_adds": found["multiply_adds"],
        "bytes": found["bytes"],
        "reference": reference.variant.kernel.name,
        "tolerance": TOLERANCE.get(call.dtype, 0.0),
        "kernels": [run.variant.kernel.name for run in runs],
    }
