"""A user's program: runs a graph file of one input and one output.

python3 program.py MODEL.slg INPUT.npy OUTPUT.npy MAX_SUBMISSION_MS [TIMEOUT]: prints the dispatched
variants, one a line. With a time limit, kernels are verified before their first use.
"""

from __future__ import annotations

import logging
import sys

import numpy as np
import spirloom


def main(
    model_file: str, input_file: str, output_file: str, max_submission_ms: str, timeout: str = ""
) -> None:
    """Runs the model once."""
    logging.basicConfig(level=logging.INFO if timeout else logging.WARNING)
    runtime = spirloom.Runtime(
        max_submission_ms=float(max_submission_ms),
        verify=bool(timeout),
        verify_timeout=float(timeout or 60),
    )
    model = runtime.load(model_file, profile=True)
    (y,) = model(np.load(input_file))
    np.save(output_file, y)
    for row in model.profile():
        print(row.variant)


if __name__ == "__main__":
    main(*sys.argv[1:])
