"""Imports examples/digits from ONNX and runs it, with an installed wheel (tools/wheel_systems.py).

    python3 scenario.py DIGITS GRAPH

GRAPH is the graph file to write. Prints the device, the share of correct digits and whether the
logits are those of PyTorch. Starts no processes, so that an emulator of one process can run it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import spirloom
from spirloom import cli

LOGIT_TOLERANCE = 1e-4
CORRECT = 0.99


def main(digits: Path, graph: Path) -> int:
    options = ["import", str(digits / "digits.onnx"), "-o", str(graph), "--dim", "batch=450"]
    if cli.main(options) != 0:
        return 1
    pixels, labels, expected = (
        np.load(digits / f"{name}.npy") for name in ("images", "labels", "logits")
    )
    (found,) = spirloom.load(graph)(pixels.astype(np.float32) / np.float32(16))
    correct = float((found.argmax(axis=1) == labels).mean())
    equal = bool(np.abs(found - expected).max() < LOGIT_TOLERANCE)
    print(f"{spirloom.devices()[0].name}: {correct:.2%} of the digits, as PyTorch: {equal}")
    return 0 if equal and correct > CORRECT else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
