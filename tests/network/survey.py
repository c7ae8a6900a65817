#!/usr/bin/env python3
"""Runs torchvision's networks and a transformer; prints errors against PyTorch, or failures.

.venv/bin/python -m tests.network.survey                       all networks, f32, batch 1
.venv/bin/python -m tests.network.survey alexnet --dtype f16   one network, in f16
.venv/bin/python -m tests.network.survey --write docs/models.md
                                                      merges the results into the table of models
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from spec_model.output_errors import handle_output_errors
from tests.network.document import COLUMNS, Row, write_rows
from tests.network.driver import TOLERANCE, StepFailed, Tools, import_network, run_network
from tests.network.export import TRANSFORMER, export_network

ROOT = Path(__file__).resolve().parents[2]
STORAGES = ("buffer", "texture3d")
LABELS = {"f32": "f32", "f16": "fp16"}  # columns of the table by dtype
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
    """The row of a network with the maximum error over the storages. Raises StepFailed."""
    exported = export_network(name, arguments.cache)
    dtype: str = arguments.dtype
    errors: list[float] = []
    times: list[float] = []
    with tempfile.TemporaryDirectory(prefix="spirloom-survey-") as scratch:
        folder = Path(scratch)
        model = import_network(tools, exported.onnx, arguments.batch, dtype, folder)
        for storage in arguments.storage or STORAGES:
            measured = run_network(
                tools, model, exported, arguments.batch, storage, folder, repeat=arguments.repeat
            )
            errors.append(measured.error)
            if arguments.repeat:
                times.append(float(str(measured.stats["steady_min_ms"])))
    if times:
        print(f"{name:<20} {dtype} {min(times):.1f} ms", flush=True)
    cell = f"{max(errors):.1e}"
    return {LABELS[dtype]: cell if max(errors) < TOLERANCE[dtype] else f"WRONG: {cell}"}


def failure(error: Exception) -> str:
    """The reason of a failure, in one line."""
    reason = error.output if isinstance(error, StepFailed) else f"no ONNX: {error}"
    return f"no: {reason.splitlines()[0]}"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("networks", nargs="*", default=NETWORKS, metavar="NETWORK")
    parser.add_argument("--dtype", choices=TOLERANCE, default="f32")
    parser.add_argument("--storage", action="append", choices=STORAGES)
    parser.add_argument("--batch", type=int, choices=(1, 2, 3), default=1)
    parser.add_argument(
        "--repeat", type=int, default=0, help="timed runs; prints the minimum latency"
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE.md", help="merge the results into FILE.md"
    )
    parser.add_argument("--spirloom", type=Path, default=ROOT / ".venv/bin/spirloom")
    parser.add_argument("--run", type=Path, default=ROOT / "build/release/bin/spirloom-run")
    parser.add_argument("--cache", type=Path, default=ROOT / "build/release/networks")
    return parser.parse_args()


@handle_output_errors
def main() -> int:
    """Returns 1 if a network fails."""
    arguments = parse_arguments()
    tools = Tools(arguments.spirloom, arguments.run)
    failed = 0
    for name in arguments.networks:
        try:
            row = survey_network(name, tools, arguments)
        except (StepFailed, RuntimeError) as error:  # RuntimeError: PyTorch's exporter
            row = {LABELS[arguments.dtype]: failure(error)}
        failed += any(cell.startswith(("no", "WRONG")) for cell in row.values())
        cells = [f"{column} {row[column]}" for column in COLUMNS if column in row]
        print(f"{name:<20} {' | '.join(cells)}", flush=True)
        if arguments.write:
            write_rows(arguments.write, {name: row})
    print(f"{len(arguments.networks) - failed} of {len(arguments.networks)} networks work.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
