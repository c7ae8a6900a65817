"""`./dev bundle --roofline`: packages the roofline for a machine with a GPU and Python 3.11.

tar xf spirloom-roofline-….tar.xz; python3 spirloom-roofline-…/run.py --out roofline.json
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from spirloom.casegen.case_pack import Case, to_bytes
from spirloom.op_library import OpLibrary

import benchmarks.gpu
from benchmarks.context import ROOT, BenchmarkFailed
from benchmarks.gpu.bundle import archive, bundle_name, copy_programs
from benchmarks.gpu.calls import timed_case
from benchmarks.gpu.weights import with_synthetic_weights
from benchmarks.roofline.by_rule import unreached
from benchmarks.roofline.call import RecordedCall, read_calls
from benchmarks.roofline.select_calls import MAX_CALLS, Candidate, candidates, chosen

PACK_CALLS = 32
TORCH_CALLS = 400  # of one process of PyTorch, which takes seconds to start
T = TypeVar("T")


def make_bundle(build: Path, folder: Path, found: Sequence[Candidate]) -> None:
    """Writes the bundle to a new or empty directory."""
    copy_programs(build, folder, ("spirloom-run", "spirloom-kernels"))
    here = Path(__file__).parent
    shutil.copy2(here / "run.py", folder)
    shutil.copy2(Path(benchmarks.gpu.__file__).with_name("torch_cuda.py"), folder)
    packs = folder / "packs"
    packs.mkdir()
    library = OpLibrary()
    for number, part in enumerate(_parts(found, PACK_CALLS)):
        cases = [_case(each.call, library) for each in part]
        (packs / f"{number:03}.slcases").write_bytes(to_bytes(cases))
    described = [describe(each) for each in found]
    (folder / "calls.json").write_text(json.dumps(described), encoding="utf-8")
    for number, calls in enumerate(_parts([c for c in described if c["torch"]], TORCH_CALLS)):
        (packs / f"torch-{number}.json").write_text(json.dumps(calls), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev bundle --roofline", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", default=ROOT / "dist",
                        help="parent directory of the bundle (default: dist/)")  # fmt: skip
    parser.add_argument("--calls", type=int, default=MAX_CALLS, metavar="COUNT",
                        help=f"of networks (default {MAX_CALLS})")  # fmt: skip
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    folder = arguments.folder / bundle_name("roofline")
    shutil.rmtree(folder, ignore_errors=True)
    make_bundle(arguments.build, folder, calls_to_time(arguments.calls))
    archive(folder)
    return 0


def calls_to_time(limit: int = MAX_CALLS) -> list[Candidate]:
    """The chosen calls of networks, and those of operators that no network reaches."""
    library, recorded = OpLibrary(), read_calls()
    networks = chosen(candidates(recorded, library), limit)
    others = candidates(unreached({call.op for call in recorded}, library), library)
    return [*networks, *others]


def describe(each: Candidate) -> dict[str, Any]:
    """A call for the results and for PyTorch, which may have an operator of the same name."""
    call = each.call
    return {
        "id": call.id,
        "op": call.op,
        "dtype": call.dtype,
        "count": call.count,
        "networks": len(call.networks),
        "shapes": " ".join("x".join(map(str, t["shape"])) for t in call.tensors()),
        "multiply_adds": each.work.multiply_adds,
        "bytes": each.work.bytes,
        "torch": call.op if call.op.startswith("aten.") and call.dtype in ("f32", "f16") else "",
        "args": list(call.args),
    }


def _case(call: RecordedCall, library: OpLibrary) -> Case:
    return timed_case(call.id, call.op, with_synthetic_weights(call.graph(library)))


def _parts(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchmarkFailed as error:
        sys.exit(f"bundle: {error}")
