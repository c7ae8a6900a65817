#!/usr/bin/env python3
"""What half floats and rounded weights cost: the table of docs/quantisation.md.

.venv/bin/python -m tests.network.quantised            prints it
.venv/bin/python -m tests.network.quantised --write    keeps it in the document
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
DOCUMENT = ROOT / "docs/quantisation.md"
NETWORKS = ("mobilenet_v3_small", "resnet18", TRANSFORMER)
FORMS = {
    "`--fp16`": ("--fp16",),
    "`--quantize int8`": ("--quantize", "int8"),
    "`--quantize int4:32`": ("--quantize", "int4:32"),
}
BEGIN, END = "<!-- SQNR -->\n", "<!-- end of SQNR -->\n"


def compared(spirloom: Path, exported: Exported, folder: Path) -> dict[str, dict[str, float]]:
    """By form what `spirloom compare` says of the logits of one image or sentence."""
    given: list[str | Path] = []
    for name, array in exported.inputs.items():
        np.save(folder / f"{name}.npy", array[:1])
        given += ["--input", f"{name}={folder / name}.npy"]
    exact = imported(spirloom, exported.onnx, folder / "f32.slg")
    found = {}
    for i, (form, options) in enumerate(FORMS.items()):
        graph = imported(spirloom, exported.onnx, folder / f"{i}.slg", *options)
        done = subprocess.run(
            [spirloom, "compare", exact, graph, *given, "--json"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        (found[form],) = json.loads(done.stdout)["outputs"]
    return found


def imported(spirloom: Path, onnx: Path, graph: Path, *options: str) -> Path:
    """The graph of a batch of one."""
    call([spirloom, "import", onnx, "-o", graph, "--dim", "batch=1", *options])
    return graph


def table(spirloom: Path, cache: Path) -> str:
    """A row for each network, in decibels."""
    lines = [f"| network | {' | '.join(FORMS)} |", "|---" * (len(FORMS) + 1) + "|"]
    for name in NETWORKS:
        with tempfile.TemporaryDirectory(prefix="spirloom-quantised-") as folder:
            found = compared(spirloom, export_network(name, cache), Path(folder))
        cells = (f"{found[form]['sqnr_db']:.1f}" for form in FORMS)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Prints the table, or puts it between the document's marks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="into docs/quantisation.md")
    parser.add_argument("--spirloom", type=Path, default=ROOT / ".venv/bin/spirloom")
    parser.add_argument("--cache", type=Path, default=ROOT / "build/release/networks")
    arguments = parser.parse_args()
    made = table(arguments.spirloom, arguments.cache)
    if not arguments.write:
        print(made, end="")
        return 0
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert end, f"{DOCUMENT} lacks the marks"
    DOCUMENT.write_text(f"{before}{BEGIN}{made}{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
