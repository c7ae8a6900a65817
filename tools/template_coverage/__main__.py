"""Reports the branches of templates that no test case executes.

  python3 -m tools.template_coverage

A branch is the body of a Jinja tag: if, elif, else, for or macro. The program renders every
variant, records its branches, and joins them with the test cases of op_tests. Reported are branches
that no variant renders, branches that only variants without test cases render, and branches whose
variants all require features that the device of this machine lacks. Those of KNOWN are expected.
Exit code: 0 no other branch is reported, 1 some are, or a known one is executed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from spec_model import load_library
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES
from tools.template_coverage.branches import Branch
from tools.template_coverage.report import (
    ROOT,
    coverage_of,
    device_features,
    findings,
    tested_variants,
)

# By template, the number of branches that only devices with cooperative matrices execute. llvmpipe
# executes the other branch of the same `if`, which emulates them.
KNOWN = {
    "attention_coopmat.glsl.j2": 1,
    "attention_coopmat_wide.glsl.j2": 1,
    "lib/coopmat.glsl.j2": 1,
}


def main(arguments: list[str] | None = None) -> int:
    """Prints the report. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="template_coverage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--bin-dir", type=Path, default=ROOT / "build/release/bin")
    programs: Path = parser.parse_args(arguments).bin_dir
    library = load_library([BUILTIN_SPECS], [BUILTIN_TEMPLATES], ROOT)
    found = coverage_of(
        library, tested_variants(programs / "op_tests"), device_features(programs / "spirloom-run")
    )
    reasons = findings(found)
    for branch, reason in reasons.items():
        print(f"{branch.template}:{branch.line}: {branch.tag}: {reason}")
    print(f"{len(found) - len(reasons)} of {len(found)} branches are executed by test cases.")
    return 1 if _unexpected(list(reasons)) else 0


def _unexpected(reported: list[Branch]) -> list[str]:
    """Prints the templates whose number of reported branches is not that of KNOWN."""
    counts = {name: 0 for name in KNOWN}
    for branch in reported:
        counts[branch.template] = counts.get(branch.template, 0) + 1
    wrong = [name for name, count in counts.items() if count != KNOWN.get(name, 0)]
    for name in wrong:
        print(
            f"{name}: {counts[name]} branches are not executed; expected {KNOWN.get(name, 0)}. Add "
            "a test case or a variant, remove the branch, or change KNOWN."
        )
    return wrong


if __name__ == "__main__":
    sys.exit(main())
