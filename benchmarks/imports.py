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
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import onnx
from spirloom.cli import main as spirloom
from spirloom.described_devices import find_devices
from spirloom.graph_reader import load
from spirloom.kernel_selection import select

from benchmarks.context import ROOT
from tests.network.export import TRANSFORMER, export_network

NETWORKS = (
    "densenet121",
    "efficientnet_b0",
    "mnasnet1_0",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "regnet_y_400mf",
    "resnet18",
    "resnet50",
    "squeezenet1_1",
    TRANSFORMER,
)
DEVICE = "llvmpipe"
# The dynamic dimensions of each column: none, the batch, and the height and width of images.
DIMS = ("--dim=batch=1..8", "--dim=height=128..512", "--dim=width=128..512")
HEADER = f"""# Imports of networks

Nodes without and with optimization passes, dispatches on the described device `{DEVICE}` at batch
size 1, and CPU time of `spirloom import` in milliseconds, without the start of Python and reading
the operators (minimum of several processes): with fixed sizes at batch size 1, and with one to
three symbols, the batch (1..8), height and width (128..512) of the images.
`.venv/bin/python -m benchmarks.imports` measures and writes this page.

| network | nodes without passes | nodes | dispatches | fixed | 1 symbol | 2 symbols | 3 symbols |
|---|---|---|---|---|---|---|---|
"""


def import_network(model: Path, out: Path, *options: str) -> float:
    """Writes the graph file. Returns the CPU time in milliseconds. In a process of its own, which
    has modules and operators (load_importer), but no results of other networks in its caches."""
    with get_context("fork").Pool(1) as pool:
        return pool.apply(timed_import, (model, out, *options))


def load_importer(folder: Path) -> None:
    """Loads the modules and operators by an import of one node."""
    x, y = (onnx.helper.make_tensor_value_info(name, 1, [1]) for name in "xy")
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "relu", [x], [y])
    opset = onnx.helper.make_opsetid("", 16)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[opset]), folder / "relu.onnx")
    timed_import(folder / "relu.onnx", folder / "relu.slg")


def timed_import(model: Path, out: Path, *options: str) -> float:
    """As import_network(), in this process."""
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status = spirloom(["import", str(model), "-o", str(out), *options])
    if status != 0:
        raise SystemExit(f"imports: the import of {model} fails.")
    return 1000 * (time.process_time() - start)


def write_with_open_dimensions(source: Path, path: Path, count: int) -> None:
    """Writes the model with `count` dynamic dimensions of its images."""
    model = onnx.load(source)
    dims = model.graph.input[0].type.tensor_type.shape.dim
    for axis, name in ((2, "height"), (3, "width"))[: count - 1]:
        dims[axis].dim_param = name
    onnx.save(model, path)


def dynamic_times(source: Path, folder: Path, times: int) -> Iterator[str]:
    """The time with each number of symbols; a dash if the network has fewer dimensions."""
    image = len(onnx.load(source).graph.input[0].type.tensor_type.shape.dim) == 4
    for count in range(1, len(DIMS) + 1):
        if count > 1 and not image:
            yield "–"
            continue
        model, out = folder / "model.onnx", folder / "dynamic.slg"
        write_with_open_dimensions(source, model, count)
        found = min(import_network(model, out, *DIMS[:count]) for _ in range(times))
        yield f"{found:.0f}"


def row(name: str, cache: Path, folder: Path, times: int) -> str:
    """The line of a network."""
    source, out = export_network(name, cache).onnx, folder / "network.slg"
    import_network(source, out, "--dim", "batch=1", "--no-optimize")
    plain = len(load(out).nodes)
    static = min(import_network(source, out, "--dim", "batch=1") for _ in range(times))
    (selections,) = select([out.read_bytes()], find_devices(DEVICE)).values()
    dispatches = len(selections.graphs[0].dispatches)
    dynamic = dynamic_times(source, folder, times)
    cells = (name, plain, len(load(out).nodes), dispatches, f"{static:.0f}", *dynamic)
    return f"| {' | '.join(map(str, cells))} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("networks", nargs="*", default=NETWORKS, metavar="NETWORK")
    parser.add_argument("--times", type=int, default=3, help="imports per figure (default 3)")
    parser.add_argument("--cache", type=Path, default=ROOT / "build/release/networks")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/imports.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spirloom-imports-") as scratch:
        load_importer(Path(scratch))
        rows = [
            row(name, arguments.cache, Path(scratch), arguments.times)
            for name in arguments.networks
        ]
    arguments.out.write_text(HEADER + "".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
