"""Runs tests on SwiftShader, a second Vulkan driver that needs no GPU: the operator cases, the
tests of models, and with --all three networks, compared with PyTorch.

Each failure must be a known property of the driver: tests/drivers/swiftshader.yaml lists them, with
the clause of the Vulkan specification that allows it or a description of the driver's bug.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.drivers import known, swiftshader
from tools.drivers.cases import CrashError, run_cases
from tools.drivers.programs import run_networks, run_tests

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
KNOWN = ROOT / "tests" / "drivers" / "swiftshader.yaml"
_PART = 4
_SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev test-drivers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--all", action="store_true", help=f"all tests, not the {_PART}th part that a day selects"
    )
    parser.add_argument("--program", type=Path, default=BUILD / "bin" / "op_tests")
    arguments = parser.parse_args()
    try:
        driver = swiftshader.find_or_download(BUILD / "drivers" / "swiftshader")
        part = 1 if arguments.all else _PART
        outcome = run_cases(arguments.program, driver, part)
        outcome.add(run_tests(BUILD / "bin" / "model_test", driver, part))
    except (swiftshader.DriverError, CrashError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    properties = known.read(KNOWN)
    unknown = known.unknown(outcome.failures, properties)
    explained = len(outcome.failures) - len(unknown)
    print(
        f"SwiftShader: {outcome.passed} tests passed; {explained} failed by known properties of "
        f"the driver, {len(unknown)} others failed; {outcome.skipped} need features or limits that "
        "it lacks."
    )
    for name in unknown[:_SHOWN]:
        print(f"{name}: {outcome.failures[name]}", file=sys.stderr)
    if len(unknown) > _SHOWN:
        print(f"… and {len(unknown) - _SHOWN} more.", file=sys.stderr)
    stale = known.unused(properties) if arguments.all else []
    for pattern in stale:
        print(f"{KNOWN.name}: no case of '{pattern}' fails; remove it.", file=sys.stderr)
    agree = not arguments.all or run_networks(ROOT, BUILD, driver)
    return 0 if agree and not unknown and not stale else 1


if __name__ == "__main__":
    sys.exit(main())
