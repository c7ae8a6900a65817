"""Measures the errors of elementwise functions on a device, and writes them to the documentation.

  .venv/bin/python3 -m tools.function_errors [FUNCTION…]    # default: all, into PAGE

PAGE, docs/reference/function-errors.md, has a section for each device; that of this device is
replaced. With functions (log, pow), prints their errors only. SPIRLOOM_DEVICE selects the device.

Exit code: 0 all errors are within the guarantees, 1 some are not, 2 no device or unknown function.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import spirloom

from tools.function_errors.functions import FUNCTIONS
from tools.function_errors.measure import DTYPES, Row, measure
from tools.function_errors.page import section, with_section

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/function-errors.md"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m tools.function_errors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("functions", metavar="FUNCTION", nargs="*")
    wanted = set(parser.parse_args().functions)
    if unknown := wanted - {each.name for each in FUNCTIONS} - {each.short for each in FUNCTIONS}:
        print(f"Function '{min(unknown)}' is not in tools/function_errors/functions.py.")
        return 2
    if not spirloom.is_available():
        print("No Vulkan device is available.")
        return 2
    np.seterr(all="ignore")
    chosen = [each for each in FUNCTIONS if not wanted or {each.name, each.short} & wanted]
    with spirloom.Runtime(cache_dir="none") as runtime:
        rows = [
            Row(each, dtype, measure(runtime, each, dtype)) for each in chosen for dtype in DTYPES
        ]
        device = runtime.device
    for row in rows:
        if wanted or not row.holds:
            print(row)
    if not wanted:
        title = f"{device.name} ({device.driver})"
        PAGE.write_text(with_section(PAGE.read_text(), title, section(rows)))
        print(f"{PAGE} is written.")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
