#!/usr/bin/env python3
"""Tries torchvision's classification networks; prints which work, and why the others do not.

python3 -m tests.network.survey                       every network below, f32, batch 1
tests/network/survey.py alexnet --dtype f16   only this one, in f16
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.network.driver import TOLERANCE, StepFailed, Tools, import_network, run_network
from tests.network.networks import export_network

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
    "vgg11",
    "vgg11_bn",
    "vit_b_16",
    "wide_resnet50_2",
)


def survey_network(name: str, tools: Tools, cache: Path, dtype: str, batch: int) -> str:
    exported = export_network(name, cache)
    cells = []
    with tempfile.TemporaryDirectory(prefix="spirloom-survey-") as folder:
        model = import_network(tools, exported.onnx, batch, dtype, Path(folder))
        for storage in STORAGES:
            measured = run_network(tools, model, exported, batch, storage, Path(folder), repeat=3)
            verdict = "ok" if measured.error < TOLERANCE[dtype] else "WRONG"
            milliseconds = float(str(measured.stats["steady_min_ms"]))
            cells.append(f"{verdict:<5} {measured.error:7.1e} {milliseconds:8.1f} ms")
    return " | ".join(cells)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("networks", nargs="*", default=NETWORKS, metavar="NETWORK")
    parser.add_argument("--dtype", choices=TOLERANCE, default="f32")
    parser.add_argument("--batch", type=int, choices=(1, 2, 3), default=1)
    parser.add_argument("--spirloom", type=Path, default=ROOT / ".venv/bin/spirloom")
    parser.add_argument("--run", type=Path, default=ROOT / "build/release/bin/spirloom-run")
    parser.add_argument("--cache", type=Path, default=ROOT / "build/release/networks")
    arguments = parser.parse_args()
    tools = Tools(arguments.spirloom, arguments.run)
    failed = 0
    print(f"{'network':<20} | {' | '.join(f'{storage:<25}' for storage in STORAGES)}")
    for name in arguments.networks:
        try:
            row = survey_network(name, tools, arguments.cache, arguments.dtype, arguments.batch)
        except StepFailed as error:
            row = f"no: {error.said.splitlines()[0]}"
        except RuntimeError as error:  # of PyTorch's exporter
            row = f"no ONNX: {str(error).splitlines()[0]}"
        failed += "ok" not in row or "WRONG" in row
        print(f"{name:<20} | {row}", flush=True)
    print(f"{len(arguments.networks) - failed} of {len(arguments.networks)} work.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
