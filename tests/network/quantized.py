#!/usr/bin/env python3
"""The quantization error of fp16 and of quantized weights: the table of docs/how-to/quantize.md.

.venv/bin/python -m tests.network.quantized            prints the table
.venv/bin/python -m tests.network.quantized --write    writes it to the document
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.network.driver import call
from tests.network.export import TRANSFORMER, Exported, export_network

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/how-to/quantize.md"
NETWORKS = ("mobilenet_v3_small", "resnet18", TRANSFORMER)
FORMATS = {
    "`--fp16`": ("--fp16",),
    "`--quantize int8`": ("--quantize", "int8"),
    "`--quantize int4:32`": ("--quantize", "int4:32"),
}
BEGIN, END = "<!-- SQNR -->\n", "<!-- end of SQNR -->\n"


def compared(spirloom: Path, exported: Exported, folder: Path) -> dict[str, dict[str, float]]:
    """By format, the figures of `spirloom compare` for the logits of one image or sentence."""
    inputs: list[str | Path] = []
    for name, array in exported.inputs.items():
        np.save(folder / f"{name}.npy", array[:1])
        inputs += ["--input", f"{name}={folder / name}.npy"]
    exact = imported(spirloom, exported.onnx, folder / "f32.slg")
    found = {}
    for i, (name_of_format, options) in enumerate(FORMATS.items()):
        graph = imported(spirloom, exported.onnx, folder / f"{i}.slg", *options)
        done = subprocess.run(
            [spirloom, "compare", exact, graph, *inputs, "--json"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        (found[name_of_format],) = json.loads(done.stdout)["outputs"]
    return found


def imported(spirloom: Path, onnx: Path, graph: Path, *options: str) -> Path:
    """Imports the network with batch size 1."""
    call([spirloom, "import", onnx, "-o", graph, "--dim", "batch=1", *options])
    return graph


def table(spirloom: Path, cache: Path) -> str:
    """The SQNR in dB, one row per network."""
    lines = [f"| network | {' | '.join(FORMATS)} |", "|---" * (len(FORMATS) + 1) + "|"]
    for name in NETWORKS:
        with tempfile.TemporaryDirectory(prefix="spirloom-quantization-") as folder:
            found = compared(spirloom, export_network(name, cache), Path(folder))
        cells = (f"{found[column]['sqnr_db']:.1f}" for column in FORMATS)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Prints the table, or writes it between the markers of the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="write to docs/how-to/quantize.md")
    parser.add_argument("--spirloom", type=Path, default=ROOT / ".venv/bin/spirloom")
    parser.add_argument("--cache", type=Path, default=ROOT / "build/release/networks")
    arguments = parser.parse_args()
    text_of_table = table(arguments.spirloom, arguments.cache)
    if not arguments.write:
        print(text_of_table, end="")
        return 0
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert end, f"{DOCUMENT} has no marker {END.strip()}"
    DOCUMENT.write_text(f"{before}{BEGIN}{text_of_table}{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
