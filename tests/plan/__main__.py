"""Plans the tests for what changed since the base revision, and runs ctest with the plan.

  python3 -m tests.plan                    # prints the plan
  python3 -m tests.plan --stages           # prints the further commands of ./dev that CI runs
  python3 -m tests.plan --run ctest ARGS   # runs ctest with it

The base is SPIRLOOM_TEST_BASE, by default where HEAD left origin/main; on main, 24 commits ago.
"""

from __future__ import annotations

import argparse
import os

from tests.plan import changes
from tests.plan.plan import Plan, make_plan, read_suites
from tests.sample import seed

CASE_PLAN = changes.ROOT / "build/release/case_plan.txt"  # read by op_tests.cpp
# All cases of so many changed variants run; of more, equal parts.
CHANGED_VARIANTS = 400
# One in so many of the other variants runs: if the compiler changed or the base cannot be built,
# and otherwise.
WITH_COMPILER, OTHERS = 5, 20


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev test --plan",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--stages", action="store_true", help="print only the further commands")
    parser.add_argument("--run", nargs=argparse.REMAINDER, metavar="COMMAND", help="run ctest")
    arguments = parser.parse_args()
    base = changes.base_revision()
    files = changes.changed_files(base) if base else ["CMakeLists.txt", "runtime/base/status.cpp"]
    plan = make_plan(read_suites(), files, seed())
    if arguments.stages:
        print("\n".join(plan.stages))
        return 0
    print(f"Base: {base or 'none'}, {len(files)} files changed; seed {seed()}.")
    print("\n".join(description(plan)))
    may_change = changes.may_change_shaders(files)
    found = changes.changed_variants(base, files) if base and may_change else []
    variants = found or []
    is_compiled_anew = found is None or any(file.startswith("compiler/") for file in files)
    others = WITH_COMPILER if is_compiled_anew else OTHERS
    parts = -(-len(variants) // CHANGED_VARIANTS) or 1
    share = "all cases" if parts == 1 else f"one case in {parts}"
    print(f"Operator cases: {share} of {len(variants)} changed variants, one in {others} others.")
    if arguments.run:
        lines = [f"{seed()} {parts} {others}", *variants]
        CASE_PLAN.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        run(arguments.run, plan)
    return 0


def description(plan: Plan) -> list[str]:
    """The lines that tell what runs, and why."""
    touched = sorted((name, file) for name, file in plan.reasons.items())
    lines = [f"  {name}: because of {file}" for name, file in touched if name not in plan.left_out]
    lines += [f"  {name}: one test in {count}" for name, count in plan.samples.items()]
    lines += [f"  {name}: not for this commit" for name in sorted(plan.left_out)]
    return lines


def run(command: list[str], plan: Plan) -> None:
    """Replaces this process by ctest."""
    exclusion = ["-E", plan.exclusion] if plan.left_out else []
    settings = os.environ | {"SPIRLOOM_SAMPLE": plan.sample_setting}
    os.execvpe(command[0], [*command, *exclusion], settings)


if __name__ == "__main__":
    raise SystemExit(main())
