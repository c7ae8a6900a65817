"""`python -m benchmarks.roofline.collect`: records the operator calls of published architectures.

Requires PyTorch, transformers and diffusers (.venv-torch). Each architecture is exported, imported
in f32 and f16, and optimized, in a process of its own. Its calls are stored in the cache directory,
so that a second run continues; then all are merged to calls.jsonl.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from spirloom.ir import Graph
from spirloom.op_library import OpLibrary

from benchmarks.context import ROOT
from benchmarks.roofline.call import CALLS, calls_in, merged, read_calls
from benchmarks.roofline.language import LANGUAGE_MODELS, language_calls


def graphs_of(name: str, library: OpLibrary) -> Iterator[Graph]:
    """The optimized graphs of an architecture, in f32 and f16."""
    import torch
    from spirloom.torch.build import build
    from spirloom.torch.export import decompose, program_of
    from spirloom.torch.options import Options
    from transformers.initialization import no_init_weights

    from benchmarks.roofline.architectures import ARCHITECTURES

    with no_init_weights(), torch.no_grad():
        module, inputs = ARCHITECTURES[name]()
        module = module.eval()
        for weight in module.parameters():
            if weight.dim() < 2:  # passes recognize norms of zeros and ones
                weight.uniform_(0.5, 1.5)
        exported = torch.export.export(module, (), inputs, strict=False)
        program = program_of(decompose(exported, library))
    for fp16 in (False, True):
        options = Options(fp16=fp16, assume_int32=True, float64_as_float32=True)
        yield build(program, library, options)


def collect(name: str, out: Path) -> None:
    """Writes the calls of an architecture."""
    library = OpLibrary()
    if name in LANGUAGE_MODELS:
        found = language_calls(name, library)
    else:
        found = [c for graph in graphs_of(name, library) for c in calls_in(graph, name, library)]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(f"{c.to_json()}\n" for c in merged(found)), encoding="utf-8")


def names() -> list[str]:
    """All architectures and language models."""
    from benchmarks.roofline.architectures import ARCHITECTURES

    return [*ARCHITECTURES, *LANGUAGE_MODELS]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.roofline.collect",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("names", nargs="*", help="architectures (default: all)")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "roofline")
    parser.add_argument("--out", type=Path, default=CALLS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        collect(arguments.names[0], arguments.out)
        return 0
    failed = []
    chosen = arguments.names or names()
    for name in chosen:
        path = arguments.cache / f"{name}.jsonl"
        if path.exists():
            continue
        start = time.monotonic()
        command = [sys.executable, "-m", "benchmarks.roofline.collect", "--one", name]
        done = subprocess.run(
            [*command, "--out", path], capture_output=True, text=True, check=False
        )
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
        if done.returncode != 0:
            failed.append(name)
            print("\n".join(done.stderr.splitlines()[-3:]), file=sys.stderr, flush=True)
    stored = [arguments.cache / f"{name}.jsonl" for name in chosen if name not in failed]
    calls = merged(call for path in stored for call in read_calls(path))
    arguments.out.write_text("".join(f"{c.to_json()}\n" for c in calls), encoding="utf-8")
    print(f"{arguments.out}: {len(calls)} calls of {len(stored)} architectures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
