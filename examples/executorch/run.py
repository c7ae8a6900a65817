"""Runs the program of export.py and compares the output with PyTorch.

python examples/executorch/run.py DIRECTORY
"""

from __future__ import annotations

import sys
from pathlib import Path

import spirloom.executorch  # registers the backend: import it before loading a program
import torch
from executorch.runtime import Runtime


def main(directory: Path) -> int:
    images = torch.frombuffer(bytearray((directory / "x.bin").read_bytes()), dtype=torch.float32)
    expected = torch.frombuffer(bytearray((directory / "y.bin").read_bytes()), dtype=torch.float32)
    method = Runtime.get().load_program(directory / "net.pte").load_method("forward")
    try:
        (output,) = method.execute([images.reshape(4, 1, 8, 8)])
    except RuntimeError as error:
        print(f"{error}\n{spirloom.executorch.last_error()}", file=sys.stderr)
        return 1
    max_error = float((output - expected).abs().max())
    print(f"{output.tolist()}: max error {max_error:.1e} from PyTorch")
    return int(not max_error < 1e-5)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
