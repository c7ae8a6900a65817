"""Whether generated/onnx_suite.md says what the suite gives; names every case that changed.

python -m tests.onnx_suite.check --fresh PAGE --committed PAGE
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.onnx_suite.table import read_passed


def differences(committed: str, fresh: str) -> list[str]:
    """One line for each case that stopped or started to pass, or one about the rest of the page."""
    before, after = read_passed(committed), read_passed(fresh)
    lines = [f"{name} passed and does not any more." for name in sorted(before - after)]
    lines += [f"{name} passes, and the page does not say so." for name in sorted(after - before)]
    if not lines and committed != fresh:
        lines.append("The page differs in what it says of cases that are as they were.")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fresh", type=Path, required=True)
    parser.add_argument("--committed", type=Path, required=True)
    arguments = parser.parse_args()
    fresh = arguments.fresh.read_text(encoding="utf-8")
    found = differences(arguments.committed.read_text(encoding="utf-8"), fresh)
    if not found:
        return 0
    print("\n".join(found))
    print(f"{arguments.committed} is stale: run ./dev update, read the difference and commit it.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
