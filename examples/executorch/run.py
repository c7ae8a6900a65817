"""Runs what export.py wrote, and compares it with PyTorch.

python examples/executorch/run.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import spirloom.executorch  # before a program is loaded
import torch
from executorch.runtime import Runtime


def main(folder: Path) -> int:
    images = torch.frombuffer(bytearray((folder / "x.bin").read_bytes()), dtype=torch.float32)
    wanted = torch.frombuffer(bytearray((folder / "y.bin").read_bytes()), dtype=torch.float32)
    method = Runtime.get().load_program(folder / "net.pte").load_method("forward")
    try:
        (found,) = method.execute([images.reshape(4, 1, 8, 8)])
    except RuntimeError as error:
        print(f"{error}\n{spirloom.executorch.last_error()}", file=sys.stderr)
        return 1
    worst = float((found - wanted).abs().max())
    print(f"{found.tolist()}: {worst:.1e} from PyTorch")
    return int(not worst < 1e-5)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
