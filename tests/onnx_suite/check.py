"""Checks that generated/onnx_suite.md and onnx_operators.txt are up to date, and prints every case
that changed.

python -m tests.onnx_suite.check --fresh DIR --committed DIR

With another version of ONNX's suite than that of the page, whose node tests use other opsets, it
checks that no operator of the page lost all of its cases.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.onnx_suite.table import read_operators, read_passed, read_version

PAGE, OPERATORS = "onnx_suite.md", "onnx_operators.txt"


def differences(committed: str, fresh: str) -> list[str]:
    """One line per case that newly fails or passes, or one line if only the text differs; for
    another version, one line per operator of which a case passed and none passes now.
    """
    if read_version(committed) != read_version(fresh):
        before, after = read_operators(committed), read_operators(fresh)
        lost = [op for op, passed in before.items() if passed and after.get(op, passed) == 0]
        return [f"{op}: no case of ONNX {read_version(fresh)} passes." for op in lost]
    passed, passes = read_passed(committed), read_passed(fresh)
    lines = [f"{name} passed before and fails now." for name in sorted(passed - passes)]
    lines += [f"{name} passes, but is not on the page." for name in sorted(passes - passed)]
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

    def texts(name: str) -> tuple[str, str]:
        committed, fresh = (arguments.committed / name, arguments.fresh / name)
        return committed.read_text(encoding="utf-8"), fresh.read_text(encoding="utf-8")

    page, fresh_page = texts(PAGE)
    found = differences(page, fresh_page)
    if not found and read_version(page) == read_version(fresh_page):
        operators, fresh_operators = texts(OPERATORS)
        if operators != fresh_operators:
            found = [f"{OPERATORS} differs."]
    if not found:
        return 0
    print("\n".join(found))
    print(f"{arguments.committed} is stale: run ./dev update, review the difference and commit it.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
