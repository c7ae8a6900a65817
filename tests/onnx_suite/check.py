"""Checks that generated/onnx_suite.md is up to date, and prints every case that changed.

python -m tests.onnx_suite.check --fresh PAGE --committed PAGE
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.onnx_suite.table import read_passed


def differences(committed: str, fresh: str) -> list[str]:
    """One line per case that newly fails or passes, or one line if only the text differs."""
    before, after = read_passed(committed), read_passed(fresh)
    lines = [f"{name} passed before and fails now." for name in sorted(before - after)]
    lines += [f"{name} passes, but is not on the page." for name in sorted(after - before)]
    if not lines and committed != fresh:
        lines.append("The text of the page differs; the results of all cases are unchanged.")
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
    print(f"{arguments.committed} is stale: run ./dev update, review the difference and commit it.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
