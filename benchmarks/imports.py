"""Nodes, dispatches and import times of networks, in a page.

.venv/bin/python -m benchmarks.imports                       writes benchmarks/results/imports.md
.venv/bin/python -m benchmarks.imports resnet18 --out FILE   one network
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
import time
from pathlib import Path

from spirloom.cli import main as spirloom
from spirloom.described_devices import find_devices
from spirloom.graph_reader import load
from spirloom.kernel_selection import select

from benchmarks.context import ROOT
from tests.network.export import TRANSFORMER, export_network

NETWORKS = (
    "densenet121",
    "efficientnet_b0",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "resnet18",
    "resnet50",
    "squeezenet1_1",
    TRANSFORMER,
)
DEVICE = "llvmpipe"
HEADER = f"""# Imports of networks

Nodes without and with optimization passes, dispatches on the described device `{DEVICE}` at batch
size 1, and CPU time of `spirloom import` in milliseconds, without the start of Python (minimum of
several imports). `.venv/bin/python -m benchmarks.imports` measures and writes this page.

| network | nodes without passes | nodes | dispatches | ms, batch 1 | ms, batch 1..8 |
|---|---|---|---|---|---|
"""


def import_network(onnx: Path, out: Path, *options: str) -> float:
    """Writes the graph file. Returns the CPU time in milliseconds."""
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status = spirloom(["import", str(onnx), "-o", str(out), *options])
    if status != 0:
        raise SystemExit(f"imports: the import of {onnx} fails.")
    return 1000 * (time.process_time() - start)


def row(name: str, cache: Path, folder: Path, times: int) -> str:
    """The line of a network."""
    onnx, out = export_network(name, cache).onnx, folder / "network.slg"
    import_network(onnx, out, "--dim", "batch=1", "--no-optimize")
    plain = len(load(out).nodes)
    dynamic = min(import_network(onnx, out, "--dim", "batch=1..8") for _ in range(times))
    static = min(import_network(onnx, out, "--dim", "batch=1") for _ in range(times))
    (selections,) = select([out.read_bytes()], find_devices(DEVICE)).values()
    dispatches = len(selections.graphs[0].dispatches)
    cells = (name, plain, len(load(out).nodes), dispatches, f"{static:.0f}", f"{dynamic:.0f}")
    return f"| {' | '.join(map(str, cells))} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("networks", nargs="*", default=NETWORKS, metavar="NETWORK")
    parser.add_argument("--times", type=int, default=3, help="imports per figure (default 3)")
    parser.add_argument("--cache", type=Path, default=ROOT / "build/release/networks")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/imports.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spirloom-imports-") as scratch:
        rows = [
            row(name, arguments.cache, Path(scratch), arguments.times)
            for name in arguments.networks
        ]
    arguments.out.write_text(HEADER + "".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
