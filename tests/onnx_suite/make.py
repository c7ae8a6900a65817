"""Generates the case pack of ONNX's backend suite, and its page of results.

  python -m tests.onnx_suite.make --suite DIR --cases OUT.slcases --page OUT.md --operators OUT.txt
  python -m tests.onnx_suite.make --suite DIR --page generated/onnx_suite.md
                                  --operators generated/onnx_operators.txt --update

With --update, a case that passed before and fails now is an error, and nothing is written. To
accept the failure, remove the case from the page.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from spirloom.casegen import case_pack
from spirloom.errors import ImportFailure
from spirloom.op_library import OpLibrary

from spec_model.files import replaced
from tests.onnx_suite.operators import operators_text
from tests.onnx_suite.outcome import outcomes
from tests.onnx_suite.suite import suite_version
from tests.onnx_suite.table import read_passed, read_version, render


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", type=Path, required=True, help="the suite's directory `data`")
    parser.add_argument("--cases", type=Path, help="the case pack to write")
    parser.add_argument("--page", type=Path, required=True, help="the page to write")
    parser.add_argument(
        "--operators", type=Path, required=True, help="the list of operators to write"
    )
    parser.add_argument("--update", action="store_true", help="fail if a case no longer passes")
    return parser.parse_args()


def lost(before: str, after: str) -> list[str]:
    """The cases that passed on the first page and do not on the second. The cases of different
    versions of the suite differ.
    """
    if read_version(before) != read_version(after):
        return []
    return sorted(read_passed(before) - read_passed(after))


def main() -> int:
    arguments = parse_arguments()
    try:
        library = OpLibrary()
        found = list(outcomes(arguments.suite, library))
        operators = operators_text(found, library)
    except ImportFailure as error:
        print(error, file=sys.stderr)
        return 1
    page = render(found, suite_version())
    if arguments.update and arguments.page.exists():
        failed = lost(arguments.page.read_text(encoding="utf-8"), page)
        if failed:
            print(f"{len(failed)} cases no longer pass: {', '.join(failed)}", file=sys.stderr)
            return 1
    if arguments.cases:
        with replaced(arguments.cases, durable=False) as stream:
            stream.write(case_pack.to_bytes(case for outcome in found for case in outcome.runs))
    with replaced(arguments.page) as stream:
        stream.write(page.encode())
    with replaced(arguments.operators) as stream:
        stream.write(operators.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
