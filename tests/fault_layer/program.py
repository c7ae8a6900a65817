"""A user's program: runs a graph file of one input and one output.

python3 program.py MODEL.slg INPUT.npy OUTPUT.npy: prints the dispatched variants, one a line.
"""

from __future__ import annotations

import logging
import sys

import numpy as np
import spirloom


def main(model_file: str, input_file: str, output_file: str) -> None:
    logging.basicConfig(level=logging.WARNING)
    model = spirloom.load(model_file, profile=True)
    (y,) = model(np.load(input_file))
    np.save(output_file, y)
    for row in model.profile():
        print(row.variant)


if __name__ == "__main__":
    main(*sys.argv[1:])
