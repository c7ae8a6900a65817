#!/usr/bin/env python3
"""Tries torchvision's networks and a transformer; prints which work, and why the others do not.

.venv/bin/python -m tests.network.survey                       every network below, f32, batch 1
.venv/bin/python -m tests.network.survey alexnet --dtype f16   only this one, in f16
.venv/bin/python -m tests.network.survey --write docs/networks.md
                                                      keeps what it finds in the document's table
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from codegen.closed_pipe import ends_quietly
from tests.network.document import COLUMNS, Row, write_rows
from tests.network.driver import TOLERANCE, StepFailed, Tools, import_network, run_network
from tests.network.export import TRANSFORMER, export_network

ROOT = Path(__file__).resolve().parents[2]
STORAGES = ("buffer", "texture3d")
NETWORKS = (
    "alexnet",
    "convnext_tiny",
    "densenet121",
    "efficientnet_b0",
    "efficientnet_v2_s",
    "googlenet",
    "inception_v3",
    "mnasnet1_0",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
    "regnet_x_400mf",
    "regnet_y_400mf",
    "resnet18",
    "resnet50",
    "resnext50_32x4d",
    "shufflenet_v2_x1_0",
    "squeezenet1_0",
    "squeezenet1_1",
    "swin_t",
    TRANSFORMER,
    "vgg11",
    "vgg11_bn",
    "vgg16",
    "vit_b_16",
    "wide_resnet50_2",
)


def survey_network(name: str, tools: Tools, arguments: argparse.Namespace) -> Row:
    """A cell per storage, named as in COLUMNS; raises StepFailed if the import fails."""
    exported = export_network(name, arguments.cache)
    dtype: str = arguments.dtype
    row: Row = {}
    with tempfile.TemporaryDirectory(prefix="spirloom-survey-") as scratch:
        folder = Path(scratch)
        model = import_network(tools, exported.onnx, arguments.batch, dtype, folder)
        for storage in arguments.storage or STORAGES:
            measured = run_network(
                tools, model, exported, arguments.batch, storage, folder, repeat=arguments.repeat
            )
            cell = f"{measured.error:.1e}"
            if arguments.repeat:
                cell += f", {float(str(measured.stats['steady_min_ms'])):.1f} ms"
            if not measured.error < TOLERANCE[dtype]:
                cell = f"WRONG: {cell}"
            row[f"{dtype} {storage}"] = cell
            row["device"] = str(measured.stats["device"])
    return row


def failure(error: Exception) -> str:
    """Why a network does not work, in one line."""
    said = error.said if isinstance(error, StepFailed) else f"no ONNX: {error}"
    return f"no: {said.splitlines()[0]}"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("networks", nargs="*", default=NETWORKS, metavar="NETWORK")
    parser.add_argument("--dtype", choices=TOLERANCE, default="f32")
    parser.add_argument("--storage", action="append", choices=STORAGES)
    parser.add_argument("--batch", type=int, choices=(1, 2, 3), default=1)
    parser.add_argument("--repeat", type=int, default=0, help="timed runs; prints the least time")
    parser.add_argument("--write", type=Path, metavar="FILE.md", help="a document to keep it in")
    parser.add_argument("--spirloom", type=Path, default=ROOT / ".venv/bin/spirloom")
    parser.add_argument("--run", type=Path, default=ROOT / "build/release/bin/spirloom-run")
    parser.add_argument("--cache", type=Path, default=ROOT / "build/release/networks")
    return parser.parse_args()


@ends_quietly
def main() -> int:
    """1 if a network does not work."""
    arguments = parse_arguments()
    tools = Tools(arguments.spirloom, arguments.run)
    failed = 0
    for name in arguments.networks:
        try:
            row = survey_network(name, tools, arguments)
        except (StepFailed, RuntimeError) as error:  # the latter of PyTorch's exporter
            row = {f"{arguments.dtype} buffer": failure(error)}
        failed += any(cell.startswith(("no", "WRONG")) for cell in row.values())
        cells = [f"{column} {row[column]}" for column in COLUMNS if column in row]
        print(f"{name:<20} {' | '.join(cells)}", flush=True)
        if arguments.write:
            write_rows(arguments.write, {name: row})
    print(f"{len(arguments.networks) - failed} of {len(arguments.networks)} work.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
